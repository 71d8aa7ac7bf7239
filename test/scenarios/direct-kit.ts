/**
 * A server that delivers directly to scripted hosts on loopback, with the operator's shaping data where a scenario
 * needs its own. Everything ends with the scope.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FakeDns } from '../fakes/fake-dns.ts';
import { type Script, type ScriptedMx, startScriptedMx } from '../fakes/scripted-mx.ts';
import { addDomain, type Instance, type Scope, startInstance, temporaryFolder } from './harness.ts';

export interface DirectKit {
  /** A host of its own address, all on one port. */
  farEnd(script: Script | readonly Script[]): Promise<ScriptedMx & { address: string }>;
  /** A server with the sender domain example.com and its token. */
  start(options?: {
    settings?: Record<string, string>;
    shaping?: readonly object[];
    /** Of postrider.json. */
    file?: object;
    openFiles?: number;
  }): Promise<{ server: Instance; token: string }>;
}

/** `net`: the first two numbers of the hosts' addresses, of one file alone: files run side by side. */
export function directKit(scope: Scope, dns: () => FakeDns, net: string): DirectKit {
  let port = 0;
  let hosts = 0;
  return {
    async farEnd(script) {
      hosts += 1;
      const address = `${net}.0.${hosts}`;
      const mx = await startScriptedMx(script, { host: address, port });
      port = mx.port;
      scope.defer(() => mx.close());
      return { ...mx, address };
    },
    async start({ settings = {}, shaping, file, openFiles } = {}) {
      const folder = await temporaryFolder(scope);
      if (shaping !== undefined) await writeFile(join(folder, 'shaping.json'), JSON.stringify(shaping));
      if (file !== undefined) await writeFile(join(folder, 'postrider.json'), JSON.stringify(file));
      const server = await startInstance(scope, {
        folder,
        ...(openFiles === undefined ? {} : { openFiles }),
        settings: {
          route: 'mx',
          dns: dns().text,
          'mx-port': String(port),
          'allow-networks': '127.0.0.0/8',
          ...settings,
        },
      });
      return { server, token: await addDomain(server, 'example.com') };
    },
  };
}
