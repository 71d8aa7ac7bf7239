/** config.md: the table of keys in src/config/. */
import { CONFIG_KEYS, CONFIG_NAMES, environmentName } from '../../src/config/table.ts';
import { code, page, table } from './markdown.ts';

export function configurationPage(): string {
  const rows = CONFIG_NAMES.map((name) => {
    const facts = CONFIG_KEYS[name];
    const { dev, serve } = facts.defaults;
    return [
      `\`${name}\``,
      `\`${environmentName(name)}\``,
      facts.form,
      dev === serve ? code(dev) : `dev ${code(dev)}, serve ${code(serve)}`,
      facts.secret === true ? `${facts.meaning}. *Secret: never printed*` : facts.meaning,
    ];
  });
  return page(
    'Configuration',
    INTRODUCTION,
    table(['Key', 'Environment', 'Form', 'Default', 'Meaning'], rows),
    ROUTING,
  );
}

const ROUTING = `## Sources and routes

Structured values can only be given in \`postrider.json\`:

\`\`\`json
{
  "sources": [
    { "id": "one", "address": "192.0.2.10", "ipv6": "2001:db8::10", "ehlo": "mail1.example.com" },
    { "id": "two", "address": "192.0.2.11", "ehlo": "mail2.example.com", "pool": "bulk", "newSince": "2027-01-31" }
  ],
  "routes": [
    { "recipientDomain": ["corp.example", "*.corp.example"], "route": "smtp://mail.corp.example:25" },
    { "senderDomain": "shop.example", "priority": "bulk", "route": ["pool:bulk", "smtp://user:password@relay.example:587"] },
    { "tag": ["invoice", "receipt"], "route": "smtp://user:password@relay.example:587" }
  ]
}
\`\`\`

**sources**: addresses that mail leaves from. \`id\` names one in \`shaping.json\` and in paths; \`address\` is an IPv4 address and
\`ipv6\` an IPv6 address of this machine, bound by outgoing connections; a source has one of them or both. What has no \`ipv6\` never
uses IPv6, also to a relay; what has no \`address\` never uses IPv4, and cannot share a pool with sources that do. To recipients' own
hosts, IPv6 also needs the key \`ipv6\`, and IPv4 is tried first. Limits and warm-up count for the source, not for each address.
\`ehlo\` is the name said there (\`hostname\` where absent), which should resolve to
the addresses and back; \`pool\` (\`default\` where absent) groups them; \`node\` is the [\`node-name\`](../howto/several-nodes.md) of the only node
that sends from it; \`newSince\` has it
[warmed up](../howto/warm-up.md). Every attempt to send
one sender domain's mail to one recipient uses the same source of its pool; its mail to a domain is spread over all sources.
Recipients of a message over 256 KiB stay together by domain. When sources are added or removed, waiting mail is spread over
the present ones.

**routes**: the first route that matches is used; the key \`route\` comes last. \`senderDomain\`, \`recipientDomain\` (exact, or
\`*.example.com\` for all sub-domains), \`priority\` and \`tag\` (one of the message's \`Tags\`, in the same case) take one value
or a list; an absent one matches all mail. \`route\` is \`mx\`, \`pool:NAME\` (direct, from the sources of that pool), a relay,
\`sandbox\`, or a list of the first three, of which the next is used if one fails; \`mx\` uses the pool \`default\` if that has
sources.
A relay with a password needs a certificate of a public authority. To trust one of your own, set the environment variable
\`NODE_EXTRA_CA_CERTS\` of the server to the file of its authority (PEM).
Waiting mail uses the routes of the last start. If routes name other tags since then, the start moves waiting mail to the queues
that follow from its tags, before anything is sent. Mail whose route was removed uses the next one that matches.

A mistake stops the start and names the place (\`routes[1].route\`), the value and the fix. \`postrider config\` shows all of it,
without passwords.`;

const INTRODUCTION = `A key is read from the first of these places that has it:

1. a flag of \`dev\`, \`serve\` or \`config\`: \`--<key> <value>\`, for example \`--http 127.0.0.1:9000\`
2. the environment variable of the table
3. the environment variable with \`_FILE\` at its end: a file that holds the value (secrets of containers)
4. \`postrider.json\` in the data folder: one JSON object with the keys as names (not \`data\` itself)
5. the default

Unknown keys and bad values stop the start with a sentence that names the key, the value and what to write instead.
\`postrider config\` prints every key with its value and where it came from. Durations are written \`250ms\`, \`10s\`,
\`5m\`, \`72h\` or \`3d\`; lists are separated by commas.`;
