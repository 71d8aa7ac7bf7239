/**
 * All checks of the doctor, a part after the other, so that what is found first is shown first: this server, then each sender
 * domain, some at the same time. Tells how far it is; ends when the signal is aborted.
 */
import type { Doctor } from '../../../../src/client/api-types.ts';
import { checkDomain, checkServer, listDomainNames } from '../../../api/system.ts';

export interface Examined {
  /** Null until this server was looked at. */
  server: Doctor['Instance'] | null;
  domains: readonly Doctor['Domains'][number][];
  /** Parts that are done, and how many there are; null until that is known. */
  done: number;
  of: number | null;
}

const NOTHING_YET: Examined = { server: null, domains: [], done: 0, of: null };
/** Domains that are looked at together. */
const AT_ONCE = 3;

export async function runDoctor(signal: AbortSignal, onNews: (examined: Examined) => void): Promise<void> {
  let examined = NOTHING_YET;
  const tell = (more: Partial<Examined>): void => {
    examined = { ...examined, ...more };
    if (!signal.aborted) onNews(examined);
  };
  tell({});
  const names = await listDomainNames(signal);
  tell({ of: names.length + 1 });
  const ofServer = async (): Promise<void> => {
    const server = await checkServer(signal);
    tell({ server, done: examined.done + 1 });
  };
  const waiting = [...names];
  const ofDomains = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const found = await checkDomain(name, signal);
      tell({ domains: [...examined.domains, ...found], done: examined.done + 1 });
    }
  };
  await Promise.all([ofServer(), ...Array.from({ length: AT_ONCE }, ofDomains)]);
}
