/**
 * A development server that sends to scripted receivers on loopback, for tests and pictures of what an operator sees: one
 * receiver takes mail, one defers it, one takes no connection, one knows no
 * recipient, and one refuses the sender domain. Everything ends with the scope.
 */
import { createFakeDns } from '../fakes/fake-dns.ts';
import { type Script, startScriptedMx } from '../fakes/scripted-mx.ts';
import { addDomain, type Instance, type Scope, startInstance } from '../scenarios/harness.ts';

export interface OperatorWorld {
  server: Instance;
  /** The receiver that was closed takes mail from now on. */
  mend(): void;
}

export const LONG_DOMAIN = 'post.a-rather-long-name-of-a-receiving-organisation.department.example';

/** `net`: the first two numbers of the receivers' addresses, of one file alone. */
export async function openOperatorWorld(scope: Scope, net: string): Promise<OperatorWorld> {
  let isClosed = true;
  let port = 0;
  const farEnd = async (host: number, script: Script): Promise<string> => {
    const address = `${net}.0.${host}`;
    const mx = await startScriptedMx(script, { host: address, port });
    port = mx.port;
    scope.defer(() => mx.close());
    return address;
  };
  const takes = await farEnd(1, {});
  const defers = await farEnd(2, { rcpt: '451 4.7.1 Greylisted, please try again in 10 minutes' });
  const closed = await farEnd(3, {
    get banner() {
      return isClosed ? '421 4.7.0 Too many connections from your address, try again later' : '220 ready';
    },
  });
  const bounces = await farEnd(4, { rcpt: '550 5.1.1 No such user here' });
  const strict = await farEnd(5, {
    dot: '550 5.7.26 Unauthenticated mail from example.com is not accepted due to its DMARC policy',
  });
  const dns = await createFakeDns({
    'example.net': { MX: ['mx.example.net'] },
    'mx.example.net': { A: [takes] },
    'consumer.example': { MX: ['consumer.olc.protection.outlook.com'] },
    'consumer.olc.protection.outlook.com': { A: [takes] },
    'slow.example': { MX: ['mx.slow.example'] },
    'mx.slow.example': { A: [defers] },
    [LONG_DOMAIN]: { MX: ['mx.slow.example'] },
    'closed.example': { MX: ['mx.closed.example'] },
    'mx.closed.example': { A: [closed] },
    'strict.example': { MX: ['mx.strict.example'] },
    'mx.strict.example': { A: [strict] },
    'gone.example': { MX: ['mx.gone.example'] },
    'mx.gone.example': { A: [bounces] },
  });
  scope.defer(() => dns.close());
  const server = await startInstance(scope, {
    mode: 'dev',
    settings: {
      route: 'mx',
      dns: dns.text,
      'mx-port': String(port),
      'allow-networks': '127.0.0.0/8',
      'log-level': 'error',
      retry: '10m',
    },
  });
  await addDomain(server, 'example.com');
  return {
    server,
    mend() {
      isClosed = false;
    },
  };
}
