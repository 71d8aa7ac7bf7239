/**
 * Every reader of text from outside has its growth measured (readers.test.ts): a reader is an exported function below these
 * folders that takes text, octets, parsed mail or something unknown. Each is in the table, or excused here with a reason.
 */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { READERS } from './reader-table.ts';
import { sourceFiles } from './source-files.ts';

const FOLDERS =
  /^(?:mail|model|net|smtp|listeners|pipeline\/(?:compose|deliver\/outcome\/classifier|events|webhooks)|policy\/(?:access|domains))\//;
/** They take texts of this program: what builds the parts, the routes and the documents of the interface. */
const BUILDERS =
  /^listeners\/http\/(?:openapi|reference|answer-schemas\.ts|send\/reading\.ts)|\.ts (?:create|open)\w+$|(?:Routes?|Operations?)$/;
/** It reads a field of POST /email: readEmailObject, which is in the table, gives every field its value. */
const FIELD_READER = /: Reading\b/;
const EXPORT =
  /^export (?:async )?function\*? (\w+)(?:<[^>]{0,100}>)?\(([^)]{0,800}(?:\([^)]{0,200}\)[^)]{0,400}){0,3})\)/gm;
const TAKES = /\b(?:string|Uint8Array|Buffer|unknown|JsonObject|MimePart|RawParts)\b/;

/** Reason → the functions, without their folder. */
const EXCUSED: Readonly<Record<string, readonly string[]>> = {
  'called by readEmailObject, readTemplate or readRender, which give them every field': [
    'listeners/http/send/batch-envelope.ts readBatchEnvelope',
    'listeners/http/body/json-properties.ts propertyTable',
    'listeners/http/body/json-properties.ts readProperties',
    'listeners/http/body/problem-list.ts inFieldOrder',
    'listeners/http/send/template-fields.ts namedTemplate',
    'listeners/http/send/template-fields.ts servesSender',
    'listeners/http/templates/template-problems.ts missingVariables',
    'listeners/http/body/json-request.ts readJsonBytes',
    'model/metadata.ts readMetadata',
    'model/schedule.ts readSendTime',
    'model/schedule.ts readExpiryTime',
  ],
  'a parser of a library: it has 4 KiB on the event loop, and a worker with a deadline beyond': [
    'listeners/http/sandbox/captured-mail.ts readCapturedMail',
    'listeners/http/sandbox/captured-parts.ts readCapturedFile',
    'listeners/http/sandbox/captured-parts.ts readCapturedPage',

    'listeners/http/sandbox/captured-wish.ts readCaptured',
  ],
  'called by parseAddress, or given texts of this program': [
    'mail/address-text.ts asciiSet',
    'mail/address-text.ts isHostName',
    'mail/address-text.ts lengthProblem',
    'mail/address-text.ts namesUpFrom',
    'mail/address-text.ts splitAddress',
  ],
  'gone through by toSevenBitInSteps, readMime, textFromHtml or readDmarcReport': [
    'mail/simple-xml.ts readXmlInSteps',
    'pipeline/compose/text-from-html.ts textFromHtmlInSteps',
    'mail/mime-tree.ts readMimeInSteps',
  ],
  'called by readMime, readDsn, readTag, the classifier or the reader of templates': [
    'mail/dsn.ts behindForwarding',
    'mail/dsn.ts fieldGroups',
    'mail/dsn.ts fieldValue',
    'mail/mime-tree.ts bodyOf',
    'mail/mime-tree.ts fieldOf',
    'mail/mime-tree.ts ownParts',
    'mail/mime-tree.ts walkParts',
    'pipeline/compose/html-tags.ts attributeOf',
    'pipeline/compose/html-tags.ts attributesOf',
    'pipeline/compose/template/html-tokenizer.ts isSpace',
    'pipeline/compose/template/html-tokenizer.ts isUrl',
    'pipeline/compose/template/html-tokenizer.ts step',
    'pipeline/compose/template/url-position.ts nextUrlState',
    'pipeline/deliver/outcome/classifier/rule-set.ts ruleMatches',
    'pipeline/deliver/outcome/classifier/prefilter.ts needleOf',
    'pipeline/deliver/outcome/classifier/prefilter.ts contains',
  ],
  'the rules of the operator and of this program': [
    'pipeline/deliver/outcome/classifier/categories.ts isCategory',
    'pipeline/deliver/outcome/classifier/categories.ts pascalCase',
    'pipeline/deliver/outcome/classifier/categories.ts categoryOfClass',
    'pipeline/deliver/outcome/classifier/rule-set.ts readRules',
    'pipeline/deliver/outcome/classifier/rule-set.ts expressionProblem',
    'policy/domains/doctor/authorities.ts mayIssue',
  ],
  'a query of at most some kilobytes, read by route.ts': [
    'listeners/http/operations/messages.ts rawHeaders',
    'listeners/http/operations/domains.ts ownDomain',
  ],
  'describes a parameter in words of this program': [
    'listeners/http/paging.ts pages',
    'listeners/http/paging.ts paging',
    'listeners/http/paging.ts memoryPaging',
    'listeners/http/query.ts text',
    'listeners/http/query.ts word',
    'listeners/http/streams/server-sent.ts resumeAfter',
  ],
  'writes what was read, or shapes an answer': [
    'listeners/http/operation.ts withHeaders',
    'listeners/http/operations/attention-answer.ts sentence',
    'listeners/http/operations/attention-paths.ts relayItemOf',
    'listeners/http/paging.ts cursorText',
    'listeners/http/idempotency.ts replayedAnswer',
    'listeners/http/problem.ts problemAnswer',
    'listeners/http/problem.ts toAppError',
    'listeners/http/json-text.ts jsonText',
    'listeners/http/route.ts json',
    'listeners/http/route.ts invalidParameter',
    'listeners/http/route.ts refuse',
    'listeners/http/sandbox/mail-parts.ts pageAnswer',
    'listeners/http/streams/server-sent.ts eventBlock',
    'listeners/http/socket-problem.ts writeProblemToSocket',
    'listeners/http/tenancy.ts ownMessage',
    'listeners/submission/smtp-errors.ts replyForThrown',
    'mail/dkim.ts signMessage',
    'mail/header-fold.ts foldAddressList',
    'mail/mime-writer.ts writeMessage',
    'mail/transfer-encoding.ts inOctets',
    'model/status.ts wordsOf',
    'model/wait-reason.ts pathReason',
    'model/wait-reason.ts domainReason',
    'model/wait-reason.ts heldReason',
    'model/personal.ts fillSlots',
    'pipeline/compose/unsubscribe-header.ts tokenSlots',
    'net/der.ts der',
    'net/der.ts sequence',
    'net/der.ts bitString',
    'net/der.ts certificatePem',
    'net/dns-codec.ts encodeQuery',
    'net/ip-address.ts formatIp',
    'net/self-signed.ts makeSelfSigned',
    'pipeline/webhooks/payload.ts callId',
    'pipeline/webhooks/signature.ts secretText',
    'pipeline/webhooks/signature.ts signatureHeaders',
    'policy/access/failed-logins.ts addressKey',
    'policy/access/failed-logins.ts networkKey',
    'policy/access/session-page.ts setCookie',
    'policy/access/tokens.ts signToken',
    'policy/domains/dns-records.ts ownershipHost',
    'policy/domains/dns-records.ts ownershipValue',
    'policy/domains/dns-records.ts dkimHost',
    'policy/domains/dns-records.ts dkimValue',
    'policy/domains/dns-records.ts dmarcValue',
    'policy/domains/dns-records.ts quotedStrings',
    'policy/domains/doctor/check.ts unanswered',
    'smtp/client-envelope.ts xtext',
    'smtp/command-guard.ts commandLine',
    'smtp/server-reply.ts reply',
    'smtp/server-reply.ts lastReply',
  ],
  'asks DNS, a peer or the store; the readers it calls are in the table': [
    'listeners/http/templates/stored-templates.ts findTemplate',
    'net/certificate-probe.ts probeCertificate',
    'net/mx-hosts.ts resolveMxHosts',
    'policy/domains/doctor/return-servers.ts returnServers',
    'policy/domains/doctor/dmarc.ts climbDmarc',
    'policy/domains/doctor/dmarc.ts reportAuthorisations',
    'policy/domains/doctor/instance-addresses.ts checkBlockLists',
    'policy/domains/doctor/instance.ts examineInstance',
    'policy/domains/doctor/spf.ts walkSpf',
    'policy/domains/service-domain.ts addServiceDomain',
    'policy/domains/verify.ts verifyDomain',
    'smtp/dane.ts checkDane',
  ],
  'judges what was parsed': [
    'policy/domains/doctor/changes.ts keepChanges',
    'policy/domains/doctor/changes.ts readChanges',
    'policy/domains/doctor/dmarc.ts judgeDmarc',
    'policy/domains/doctor/dmarc.ts judgeAlignment',
    'listeners/http/operations/wait-words.ts waitReason',
    'listeners/http/operations/wait-words.ts addReason',
    'listeners/http/operations/wait-words.ts mostFirst',
    'mail/address-text.ts isAtOrBelow',
    'pipeline/events/bounce-fact.ts cut',
    'policy/domains/doctor/hosts.ts judgeReturnPath',
    'policy/domains/doctor/hosts.ts judgeFromMx',
    'policy/domains/doctor/hosts.ts judgeTracking',
    'policy/domains/doctor/hosts.ts judgeAliasLoops',
    'policy/domains/doctor/hosts.ts judgeWildcard',
    'policy/domains/doctor/instance-addresses.ts isGeneric',
    'policy/domains/doctor/spf-check.ts judgeSpf',
  ],
  'a hash that takes the same work for any password, after its length was checked': [
    'policy/access/password-hash.ts scryptOf',
  ],
  'names, keys and tokens of this program': [
    'model/wait-reason.ts isPathReason',
    'model/wait-reason.ts isHeldReason',
    'model/wait-reason.ts isDomainReason',
    'model/wait-reason.ts reasonSentence',
    'model/wait-reason.ts dashboardSentence',
    'model/wait-reason.ts withoutNoCode',
    'listeners/http/send/fields.ts placeOf',
    'model/node.ts differingSettings',
    'model/event.ts webhookToken',
    'model/event.ts webhookTokens',
    'model/personal.ts reachOf',
    'model/route-key.ts routeKeyParts',
    'model/route.ts relaySite',
    'model/route.ts isRelaySite',
    'model/route.ts relayOfSite',
    'model/route.ts siteOfRelay',
    'listeners/http/request-facts.ts ownerOf',
    'model/submission.ts sendingCaller',
    'model/webhook.ts listensTo',
    'model/webhook.ts mayListen',
    'policy/access/rights.ts mayActOn',
    'policy/access/rights.ts pickDomain',
    'policy/domains/dkim-keys.ts loadPrivateKey',
    'policy/domains/doctor/dmarc-reports.ts judgeReports',
    'policy/domains/relay-spf.ts relayInclude',
    'policy/domains/doctor/spf-check.ts ipTerms',
    'policy/domains/relay-spf.ts spfText',
    'smtp/client-work.ts newWork',
  ],
};

function found(): string[] {
  const names: string[] = [];
  for (const file of sourceFiles()) {
    const path = file.slice('src/'.length);
    if (!FOLDERS.test(path)) continue;
    for (const [, name = '', parameters = ''] of readFileSync(file, 'utf8').matchAll(EXPORT)) {
      if (TAKES.test(parameters) && !FIELD_READER.test(parameters) && !BUILDERS.test(`${path} ${name}`))
        names.push(`${path} ${name}`);
    }
  }
  return names;
}

it('every reader of text from outside is in the table of test/growth, or has a reason not to be', () => {
  const excused = new Set(Object.values(EXCUSED).flat());
  const all = found();
  expect(all.length).toBeGreaterThan(150);
  expect(all.filter((name) => !(name in READERS) && !excused.has(name))).toEqual([]);
  expect([...excused].filter((name) => !all.includes(name) || name in READERS)).toEqual([]);
});
