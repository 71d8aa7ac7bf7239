/**
 * A receiving server on loopback for tests and pictures of the dashboard: what it answers follows from the local part of the
 * address, so that a message shows what its recipients are called.
 */
import { startSmtpSink } from '../fakes/smtp-sink.ts';

/** Beginnings of addresses, and what is said to them; the others are taken. */
const ANSWERS: readonly (readonly [start: string, reply: string])[] = [
  ['gone', '550 5.1.1 The email account that you tried to reach does not exist'],
  ['full', '452 4.2.2 The recipient’s inbox is out of storage space'],
  ['blocked', '554 5.7.1 Message rejected due to local policy: see https://postmaster.example.net/4711'],
  ['later', '451 4.7.1 Greylisted, please try again in 300 seconds'],
  [
    'hostile',
    "550 5.1.1 <img src=x onerror=\"document.title='ran'\"><script>document.title='ran'</script> \u202Eno such user",
  ],
];

export function startFarEnd() {
  return startSmtpSink({
    keepData: false,
    refuse: (recipient) => ANSWERS.find(([start]) => recipient.startsWith(start))?.[1] ?? null,
  });
}
