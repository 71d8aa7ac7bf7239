// The injector's process: takes plans over its IPC channel, runs one at a time, answers each with its result.
// In:  {kind:'plan', plan} · {kind:'arrived', id} (from the sink, in latency mode).   Out: {kind:'result', result}.
// It ends when its parent is gone.
import { injectHttp } from './inject-http.ts';
import { injectSmtp } from './inject-smtp.ts';
import type { Tally } from './tally.ts';
import type { InjectPlan } from './types.ts';

let running: Tally | undefined;

process.on('message', (message: { kind: 'plan'; plan: InjectPlan } | { kind: 'arrived'; id: number }) => {
  if (message.kind === 'arrived') return running?.arrived(message.id);
  const { plan } = message;
  running = plan.doors[0]?.kind === 'http' ? injectHttp(plan) : injectSmtp(plan);
  running.done.then((result) => process.send?.({ kind: 'result', result }));
});
process.on('disconnect', () => process.exit(0));
