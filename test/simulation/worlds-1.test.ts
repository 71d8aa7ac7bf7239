/** The worlds 1 to 500 (worlds.ts). */
import { describeWorlds } from './worlds.ts';

describeWorlds(1, 500);
