/** What every simulated process of the tests shares: made once, since it costs milliseconds and none of it changes. */
import { createProcessParts } from '../../src/simulation/process.ts';

export const PARTS = createProcessParts();
