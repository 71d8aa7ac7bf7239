/**
 * A test mail to an address of the operator: sent like any mail, with the reply of the far end and a list of what it
 * checks.
 */
import type { Domain, MessageWithContents } from '../../client/api-types.ts';
import { sleep, systemClock } from '../../lib/clock.ts';
import type { Api } from '../api-client.ts';
import { checkLines } from '../check-text.ts';
import { printable } from '../terminal.ts';
import { addressProblem } from './ask.ts';
import type { Setup } from './setup.ts';

const POLL_MS = 250;
const LONGEST_MS = 60_000;
/** There is no result yet. */
const OPEN: readonly string[] = ['Queued', 'Sending', 'Scheduled'];
/** It may still be delivered. */
const WAITING: readonly string[] = [...OPEN, 'Deferred', 'Held'];
/** What the far end checks: signature, SPF, policy, and whether they belong to the From address. */
const AUTHENTICATION = /^(?:dkim\d*|spf.*|dmarc|align)$/;

/** The address; null if no test mail is wanted. */
export async function chooseRecipient(setup: Setup): Promise<string | null> {
  const { ask, options } = setup;
  if (options.testTo !== undefined) return options.testTo;
  if (!ask.asks) return null;
  const to = await ask.text({
    flag: '--test-to',
    message: 'Your own address, for a test mail (- for none)',
    initial: setup.load().config['operator-address'] ?? '-',
    check: addressProblem,
  });
  return to === '-' ? null : to;
}

/** Whether it was delivered. */
export async function sendTestMail(setup: Setup, api: Api, domain: Domain, to: string): Promise<boolean> {
  const { terminal, report } = setup;
  const { MessageID } = await api.call<{ MessageID: string }>('POST', '/email', {
    From: { email: `postrider@${domain.Domain}`, name: 'postrider' },
    To: [{ email: to }],
    Subject: `Test mail from ${domain.Domain}`,
    ContentType: 'Text',
    PlainContent: 'This is a test mail of postrider setup. If you can read it, mail leaves your server.\n',
    Priority: 'critical',
  });
  const found = await setup.during(`Sending a test mail to ${printable(to)}`, settled(api, MessageID));
  const { Status, LastResponse, WaitReason } = found;
  const reply = LastResponse === '' ? WaitReason : LastResponse;
  report.TestMail = { To: to, MessageID, Status, Reply: reply };
  setup.say(`${Status}${reply === '' ? '' : `: ${reply}`}`);
  const checks = domain.Checks.filter(({ Name }) => AUTHENTICATION.test(Name));
  setup.say(`What the receiver checks:\n${checkLines(terminal.stderr, checks).join('\n')}`);
  if (Status !== 'Delivered')
    setup.say(
      `${WAITING.includes(Status) ? 'What happens to it next' : 'What this means'}: ${setup.command(`message ${MessageID}`)}`,
    );
  return Status === 'Delivered';
}

/** The only recipient, once there is a result for it, or after a minute. */
async function settled(api: Api, id: string): Promise<MessageWithContents['Recipients'][number]> {
  const endMs = systemClock.monotonicMs() + LONGEST_MS;
  for (;;) {
    const { Recipients } = await api.call<MessageWithContents>('GET', `/email/${id}`);
    const [recipient] = Recipients;
    if (recipient === undefined) throw new Error(`message ${id} has no recipient`);
    if (!OPEN.includes(recipient.Status) || systemClock.monotonicMs() > endMs) return recipient;
    await sleep(systemClock, POLL_MS);
  }
}
