/** The worlds 501 to 1000 (worlds.ts). */
import { describeWorlds } from './worlds.ts';

describeWorlds(501, 500);
