/** How much memory this process may use, in octets, and whether that is enough: a container or a unit may give it less than the machine has. */
import { totalmem } from 'node:os';

const MIB = 1024 * 1024;
/** The system kills a server under load with 256 MiB, and with 128 MiB before it has started (measured). A small machine of 512 MB has less. */
const LITTLE_BYTES = 400 * MIB;

export function memoryOfProcess(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/** A warning for the operator; null: it is enough. */
export function littleMemory(bytes = memoryOfProcess()): string | null {
  if (bytes >= LITTLE_BYTES) return null;
  return (
    `Warning: this process may use only ${Math.floor(bytes / MIB)} MB of memory. Where it needs more, the system kills it without a word in ` +
    'this log, below 192 MB already at the start. Give it 512 MB: MemoryMax= in the systemd unit, --memory for a container, or a larger machine.'
  );
}
