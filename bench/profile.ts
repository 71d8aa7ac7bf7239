// `node bench/profile.ts [--dkim] [--size 10240] [--door smtp] [--recipients 50] [--tls] [--batch 20] [--sites 1000] [--messages N]`: what a message of ours costs, as a table of stages: µs of
// CPU and KB of JavaScript memory, by thread. Warms a server up as the benchmark does, then joins it as a debugger: one
// load while the CPU profiler samples each thread, another while allocations are sampled. What V8's own threads and the
// pool use is not in a profile and comes from /proc. Exit code 0, 1 where it failed.

import { mkdtempSync, rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { freePort } from '../test/fakes/own-postfix.ts';
import { joinThreads, type ProfiledThread } from './inspector.ts';
import { type Load, measure, PLAIN_LOAD } from './measure.ts';
import { postrider } from './peers/postrider.ts';
import { makeCertificate } from './peers/settings.ts';
import { stagesOf } from './stages.ts';

const SAMPLE_US = 500;

const { values } = parseArgs({
  options: {
    dkim: { type: 'boolean', default: false },
    door: { type: 'string', default: 'http' },
    recipients: { type: 'string', default: '1' },
    tls: { type: 'boolean', default: false },
    connections: { type: 'string', default: '50' },
    batch: { type: 'string', default: '1' },
    size: { type: 'string', default: '10240' },
    sites: { type: 'string', default: '0' },
    messages: { type: 'string', default: '20000' },
    warmup: { type: 'string', default: '25000' },
    root: { type: 'string' },
    frames: { type: 'boolean', default: false },
  },
});

const baseDir = mkdtempSync('/var/tmp/postrider-profile-');
try {
  process.stdout.write(await profile());
} finally {
  rmSync(baseDir, { recursive: true, force: true });
}

async function profile(): Promise<string> {
  const inspectPort = await freePort();
  const messages = Number(values.messages);
  const load: Load = {
    ...PLAIN_LOAD,
    messages,
    warmup: Number(values.warmup),
    connections: Number(values.connections),
    door: values.door === 'smtp' ? 'smtp' : 'http',
    recipients: Number(values.recipients),
    certificate: values.tls ? makeCertificate(baseDir) : undefined,
    batch: Number(values.batch),
    bodyBytes: Number(values.size),
    sites: Number(values.sites),
    dkim: values.dkim,
    timeoutMs: 300_000,
    interrupted: new AbortController().signal,
    baseDir,
    inspectPort,
  };
  const peer = postrider(values.root === undefined ? undefined : { name: 'postrider', root: values.root });
  let threads: readonly ProfiledThread[] = [];
  const figures = await measure(peer, load, {
    async before() {
      // Those of now: a thread that starts later has no profile that could be stopped.
      threads = [...(await joinThreads(inspectPort))];
      for (const thread of threads) await thread.start(SAMPLE_US);
    },
    async after() {
      for (const thread of threads) await thread.stop();
    },
  });
  return stagesOf(threads, figures, messages * load.recipients, values.frames);
}
