// Good receivers beside bad ones: the same mail to four good domains, once alone and once while as much again waits for a
// receiver that takes one message a second and for one that answers after seconds. Measured: good messages a second.

import { createFakeDns } from '../../test/fakes/fake-dns.ts';
import { freePort } from '../../test/fakes/own-postfix.ts';
import { type FarEnd, startFarEnd } from './far-end.ts';
import { quantile, sendAll, startEngineServer, textMessage } from './server.ts';

const GOOD = ['one.good.example', 'two.good.example', 'three.good.example', 'four.good.example'];

export async function measureNeighbours(perDomain: number, runs: number): Promise<string> {
  const alone: number[] = [];
  const beside: number[] = [];
  for (let i = 0; i < runs; i += 1) {
    alone.push(await goodPerSecond(perDomain, false));
    beside.push(await goodPerSecond(perDomain, true));
  }
  const [a, b] = [quantile(alone, 0.5), quantile(beside, 0.5)];
  return `| ${GOOD.length} × ${perDomain} good, medians of ${runs} | ${a.toFixed(0)}/s alone | ${b.toFixed(0)}/s beside bad ones | ${((b / a) * 100).toFixed(0)} % |`;
}

async function goodPerSecond(perDomain: number, withBad: boolean): Promise<number> {
  const port = await freePort();
  const hosts = ['127.0.0.11', '127.0.0.12', '127.0.0.13', '127.0.0.14'];
  const far: FarEnd[] = [];
  for (const host of hosts) far.push(await startFarEnd(host, port, 'good'));
  const bad = [
    await startFarEnd('127.0.0.15', port, 'throttled'),
    await startFarEnd('127.0.0.16', port, 'tarpit'),
  ];
  const dns = await createFakeDns(
    Object.fromEntries([
      ...GOOD.map((domain, i) => [domain, { A: [hosts[i] ?? ''] }] as const),
      ['slow.bad.example', { A: ['127.0.0.15'] }] as const,
      ['tar.bad.example', { A: ['127.0.0.16'] }] as const,
    ]),
  );
  const server = await startEngineServer({
    ROUTE: 'mx',
    DNS: dns.text,
    MX_PORT: String(port),
    ALLOW_NETWORKS: '127.0.0.0/8',
  });
  try {
    const messages: object[] = [];
    for (let i = 0; i < perDomain; i += 1) {
      for (const domain of GOOD) messages.push(textMessage(`r${i}@${domain}`, messages.length, 'normal'));
      if (withBad) {
        for (const domain of ['slow.bad.example', 'tar.bad.example']) {
          messages.push(textMessage(`r${i}@${domain}`, messages.length, 'normal'));
        }
      }
    }
    const total = perDomain * GOOD.length;
    const started = performance.now();
    const sent = sendAll(server, messages);
    while (far.reduce((sum, { taken }) => sum + taken, 0) < total) {
      if (performance.now() - started > 300_000) throw new Error('the good ones did not all arrive');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const seconds = (performance.now() - started) / 1000;
    await sent;
    return total / seconds;
  } finally {
    await server.stop();
    for (const one of [...far, ...bad]) await one.close();
    await dns.close();
  }
}
