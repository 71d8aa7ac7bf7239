/** The worlds 1501 to 2000 (worlds.ts). */
import { describeWorlds } from './worlds.ts';

describeWorlds(1501, 500);
