/** The first person who signs in to the dashboard, as operator, with a password that is shown once. */
import type { Person } from '../../client/api-types.ts';
import { type Api, everyItem } from '../api-client.ts';
import { generatedPassword } from '../password.ts';
import { addressProblem } from './ask.ts';
import type { Setup } from './setup.ts';

/** If there are people already, nothing is done, unless a flag names another one. */
export async function addPerson(setup: Setup, api: Api): Promise<void> {
  const { ask, options, report } = setup;
  const there = await everyItem<Person>(api, '/people');
  const named = options.person?.toLowerCase();
  if (
    named === undefined
      ? there.length > 0 || !ask.asks
      : there.some(({ Email }) => Email.toLowerCase() === named)
  )
    return;
  const { config } = setup.load();
  const email =
    options.person ??
    (await ask.text({
      flag: '--person',
      message: 'Your address, to sign in to the dashboard with (- for nobody)',
      initial: config['operator-address'] ?? '-',
      check: addressProblem,
    }));
  if (email === '-') return;
  const password = generatedPassword();
  const { Email } = await api.call<Person>('POST', '/people', {
    Email: email,
    Password: password,
    Role: 'operator',
  });
  report.Person = { Email, Password: password };
  setup.say(
    `${Email} signs in to the dashboard with this password (it is not shown again):\n\n${password}\n`,
  );
}
