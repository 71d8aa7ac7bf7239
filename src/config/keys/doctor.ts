/** What the doctor may contact in addition to the zone's servers and this machine. */

import { bad, good, splitList } from '../forms.ts';
import { both, type KeyTable, key } from '../key-facts.ts';

export const DOCTOR_KEYS = {
  'doctor-probe': key(
    '`address:port` list',
    both(''),
    'mail servers of yours on other networks that `doctor` connects to, to check that outgoing port 25 is open; if not set, those of the domain of `operator-address`',
    (t) => {
      const list = splitList(t);
      const wrong = list.find((item) => !/^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\]):\d{1,5}$/i.test(item));
      return wrong === undefined ? good(list) : bad(`"${wrong}" is not address:port, e.g. 198.51.100.7:25`);
    },
  ),
  'doctor-dnsbl': {
    ...key(
      'list of zones',
      both(''),
      'block lists that `doctor` checks the source addresses against, with your key if the list has one, e.g. `KEY.zen.dq.spamhaus.net`',
      (t) => {
        const list = splitList(t).map((item) => item.toLowerCase().replace(/\.$/, ''));
        const wrong = list.find((item) => !/^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})+$/.test(item));
        return wrong === undefined ? good(list) : bad('one of them is not the zone of a block list');
      },
    ),
    secret: true,
  },
  'doctor-clock': key(
    'URL',
    both(null),
    'a web server of yours with a correct clock, which `doctor` compares with the clock of this machine',
    (t) => (/^https?:\/\/[^/\s]+/.test(t) ? good(t) : bad('use a URL such as https://www.example.com/')),
  ),
} satisfies KeyTable;
