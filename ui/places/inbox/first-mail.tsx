/** What to do while nothing was captured: send the first mail by HTTP or SMTP, ready to paste. */
import { useQuery } from '@tanstack/react-query';
import type { Me } from '../../../src/client/api-types.ts';
import { ME, tokenFileOf, tokenInShell } from '../../api/me.ts';
import { CodeBlock } from '../../components/copy.tsx';
import { curlCommand } from '../../components/curl.ts';

export function FirstMail() {
  const me = useQuery(ME).data;
  const { origin } = location;
  const tokenFile = tokenFileOf(me);
  const body = {
    From: { name: 'Postrider', email: 'hello@example.com' },
    To: [{ name: 'You', email: 'you@example.net' }],
    Subject: 'It works',
    ContentType: 'HTML',
    HTMLContent: '<h1>It works</h1><p>Your code is 482913.</p>',
  };
  const curl = curlCommand(origin, body, tokenInShell(tokenFile));
  return (
    <div className="min-h-0 flex-1 overflow-y-auto">
      <div className="mx-auto grid max-w-2xl gap-5 p-6">
        <div>
          <h1 className="font-semibold text-lg">Send the first mail</h1>
          <p className="mt-1 text-soft">All mail is captured here and shown as soon as it arrives.</p>
        </div>
        <section>
          <h2 className="mb-1 font-semibold">By HTTP</h2>
          <p className="mb-2 text-soft">
            {tokenFile === null
              ? 'With a token in the variable POSTRIDER_TOKEN. Create one under Access.'
              : 'In a terminal of this machine:'}
          </p>
          <CodeBlock text={curl} label="Copy the command" />
        </section>
        {me !== undefined && <BySmtp me={me} />}
        <p>
          <a href="/api/v1/docs" className="text-accent underline">
            All of the API
          </a>
        </p>
      </div>
    </div>
  );
}

/** Where this server takes mail by SMTP; a development server takes any login, or none. */
function BySmtp({ me: { Mode, Submission } }: { me: Me }) {
  const port = Mode === 'dev' ? Submission.at(-1) : Submission[0];
  if (port === undefined) return null;
  const host = Mode === 'dev' ? location.hostname.replace(/^\[|\]$/g, '') : port.Host;
  return (
    <section>
      <h2 className="mb-1 font-semibold">By SMTP</h2>
      <p className="mb-2 text-soft">
        {Mode === 'dev'
          ? 'Any user name and password, or none.'
          : 'With an SMTP login. Create one under Access.'}
      </p>
      <CodeBlock text={`SMTP_HOST=${host}\nSMTP_PORT=${port.Port}`} label="Copy the SMTP settings" />
    </section>
  );
}
