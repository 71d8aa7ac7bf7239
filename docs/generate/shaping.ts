/** shaping.md and reply-rules.md: the two files an operator may put into the data folder, from the tables that check them. */
import { CATEGORIES, categoryFacts } from '../../src/pipeline/deliver/outcome/classifier/categories.ts';
import { createClassifier, shippedRules } from '../../src/pipeline/deliver/outcome/classifier/classify.ts';
import { LIMIT_NAMES, LIMITS } from '../../src/policy/limits/shaping/limit-values.ts';
import { shippedShaping } from '../../src/policy/limits/shaping/shaping.ts';
import type { ShapingRow } from '../../src/policy/limits/shaping/shaping-file.ts';
import { code, page, table } from './markdown.ts';

export function shapingPage(): string {
  const limits = LIMIT_NAMES.map((name) => [code(name), LIMITS[name].form, LIMITS[name].meaning]);
  const rows = shippedShaping().map((row) => [
    code(row.id),
    matches(row),
    LIMIT_NAMES.flatMap((name) =>
      row.limits?.[name] === undefined ? [] : [`${name} ${row.limits[name] ?? 'no limit'}`],
    ).join(', '),
    [row.note, `${row.source} (${row.since})`].filter((text) => text !== undefined).join('. '),
  ]);
  return page(
    'shaping.json',
    SHAPING,
    '## Fields of a row',
    table(['Field', 'Meaning'], FIELDS),
    '## Limits',
    table(['Limit', 'Value', 'Meaning'], limits),
    '## Shipped rows',
    table(['Row', 'For', 'Limits', 'Why'], rows),
  );
}

export function replyRulesPage(): string {
  const categories = CATEGORIES.map((category) => [code(category), categoryFacts(category).means]);
  const providers = shippedRules().providers.map(({ id, suffixes }) => [
    code(id),
    suffixes.map(code).join(' '),
  ]);
  return page(
    'reply-rules.json',
    RULES.replace('COUNT', String(createClassifier().ruleCount)),
    '## Fields of a rule',
    table(['Field', 'Meaning'], RULE_FIELDS),
    '## Categories',
    table(['Category', 'Means'], categories),
    '## Providers',
    table(['Provider', 'Hosts that end in'], providers),
  );
}

function matches(row: ShapingRow): string {
  const parts = [
    ...(row.mx ?? []),
    ...(row.domains ?? []).map((domain) => `domain ${domain}`),
    ...(row.belowMessagesPerDay === undefined
      ? []
      : [`fewer than ${row.belowMessagesPerDay} messages a day`]),
    ...(row.id === 'relay' ? ['every relay'] : []),
  ];
  return parts.length === 0
    ? 'everything'
    : `${parts.join(', ')}${row.oneSite === false ? '; each domain a site' : ''}`;
}

const SHAPING = `Limits for receivers are data. \`shaping.json\` in the data folder holds a list of rows that are laid over the
shipped ones below: a row with a shipped id changes what it names, any other is a new provider and wins over shipped rows.
It is read at the start, where a mistake stops the start, and on \`SIGHUP\`, where a mistake leaves the old rows in force and
is logged; both name the line and what to write. [How to use it](../howto/shape-traffic.md).

\`\`\`json
[
  { "id": "google", "limits": { "connections": 2 }, "sources": { "new": { "messagesPerSecond": 0.5 } } },
  { "id": "partner", "mx": [".mail.partner.example"], "limits": { "connections": 20, "tls": "required" } },
  { "id": "smarthost", "relays": ["smtp.example.net:587"], "limits": { "messagesPerSecond": 14 } }
]
\`\`\``;

const FIELDS: readonly (readonly [string, string])[] = [
  ['`id`', 'name of the row; letters, digits, dots, hyphens'],
  [
    '`mx`',
    'ends of MX host names, each with its dot; every MX host of a domain must end in one, the longest end decides',
  ],
  ['`domains`', 'recipient domains; they come before `mx`'],
  ['`relays`', '`host` or `host:port` of configured relays'],
  [
    '`oneSite`',
    'true (the default): all hosts are one site with one set of connections; false: each domain or host set is one',
  ],
  ['`limits`', 'the figures below; what is left out stays'],
  ['`sources`', 'limits by the id of an [egress source](config.md#sources-and-routes)'],
  [
    '`belowMessagesPerDay`',
    'of the row `small`: up to how many messages a day a site of no provider counts as small',
  ],
  ['`route`', '`mx` or `relay`: what a general row is for'],
  ['`since`, `source`, `note`', 'for people: when, from where, why'],
];

const RULES = `Replies of servers are classified by rules, COUNT of them shipped. \`reply-rules.json\` in the data folder holds a list of
your own, asked before those, in their order. A rule that is wrong (unknown field, an expression that may run long, an example
that it does not match) stops the start; on \`SIGHUP\` it leaves the old rules in force and is logged with its line.
Replies that no rule matches are classified by their words, in many languages.
\`postrider explain "550 5.1.1 no such user"\` shows what a reply means to the shipped rules.

\`\`\`json
[
  {
    "id": "own-1",
    "when": "5xx",
    "re": "only at a blue moon",
    "lit": ["blue moon"],
    "category": "mailbox_full",
    "confidence": "high",
    "since": "2026-11",
    "source": "their postmaster",
    "example": "550 5.7.1 Mail only at a blue moon",
    "nearMiss": "550 5.7.1 Mail only at a full moon"
  }
]
\`\`\``;

const RULE_FIELDS: readonly (readonly [string, string])[] = [
  ['`id`', 'shown in the timeline with what it decided'],
  [
    '`re`',
    'expression over the reply in lower case, spaces collapsed, code first; gaps as `.{0,60}`, no `*` or `+`',
  ],
  ['`lit`', 'texts in lower case of which one must be in the reply before the expression is tried'],
  ['`category`', 'one of those below'],
  ['`confidence`', '`high`, `medium` or `low`; an address is suppressed at once only by `high`'],
  ['`example`, `nearMiss`', 'a reply that it must match, and a similar one that it must not'],
  ['`when`', 'only for replies with a code `4xx` or `5xx`; `any` is the same as nothing'],
  ['`since`, `source`', 'when and from where, for people; may be left out'],
  ['`provider`', 'only for hosts of this provider'],
  ['`stages`', 'only at `connection`, `mail`, `rcpt` or `data`'],
  [
    '`scope`',
    'whose fault, where it differs from the category: `recipient`, `message`, `domain`, `sender_domain`, `batch`, `path`',
  ],
  ['`waitMs`', 'wait so long; a wait that the reply itself names has precedence'],
  [
    '`alone`',
    'true: it decides alone, as every rule of yours does; of the shipped ones where a customer of the provider wrote the words',
  ],
];
