// One-time codes while a newsletter goes out: bulk mail is accepted and held, let go, and from then on a critical message
// is sent every 100 ms until the bulk is gone. Measured: from sending the request to the final dot at the receiver.
import { freePort } from '../../test/fakes/own-postfix.ts';
import { startFarEnd } from './far-end.ts';
import { quantile, sendAll, startEngineServer, textMessage } from './server.ts';

export async function measureCodes(bulk: number): Promise<string> {
  const port = await freePort();
  const far = await startFarEnd('127.0.0.1', port, 'good');
  const server = await startEngineServer({ ROUTE: `smtp://127.0.0.1:${port}` });
  try {
    await server.call('POST', '/queue/hold', { Priority: 'bulk', Reason: 'measuring' });
    await sendAll(
      server,
      Array.from({ length: bulk }, (_, i) => textMessage(`r${i}@far.example`, 1_000_000 + i, 'bulk')),
    );
    const sentAt = new Map<number, number>();
    const waits: number[] = [];
    let delivered = 0;
    far.onTaken = (id) => {
      const at = sentAt.get(id);
      if (at === undefined) delivered += 1;
      else waits.push(performance.now() - at);
    };
    const released = performance.now();
    await server.call('POST', '/queue/release', { Priority: 'bulk' });
    for (let id = 0; delivered < bulk && performance.now() - released < 600_000; id += 1) {
      sentAt.set(id, performance.now());
      await server.call('POST', '/email', textMessage(`c${id}@far.example`, id, 'critical'));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const seconds = (performance.now() - released) / 1000;
    const n = waits.length;
    return `| ${bulk} bulk waiting, ${n} of ${sentAt.size} codes | ${quantile(waits, 0.5).toFixed(1)} | ${quantile(waits, 0.99).toFixed(1)} | ${Math.max(...waits).toFixed(1)} | ${(delivered / seconds).toFixed(0)}/s bulk meanwhile | ${server.memoryMiB().toFixed(0)} MiB |`;
  } finally {
    await server.stop();
    await far.close();
  }
}
