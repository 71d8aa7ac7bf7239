/** The worlds 1001 to 1500 (worlds.ts). */
import { describeWorlds } from './worlds.ts';

describeWorlds(1001, 500);
