/**
 * What is likely wrong with a mail before it goes to people: parts, links, pictures, size. Given the parsed mail; leaves
 * findings, the worst first, each with what to do. Pure. The tags of its HTML are found in one pass, because a browser's parser
 * takes many seconds, or all memory, for elements that are nested deeply.
 */
import type { CaptureDetail } from '../../../../src/client/api-types.ts';
import { decodeEntities } from '../../../../src/pipeline/compose/html-entities.ts';
import {
  attributeOf,
  endTagOf,
  type HtmlTag,
  RAW_TEXT,
  readTag,
  UNENDED,
} from '../../../../src/pipeline/compose/html-tags.ts';

export interface Finding {
  level: 'bad' | 'warn' | 'good';
  title: string;
  /** Why it matters, or what to do. */
  advice: string;
  /** Where: addresses, texts. */
  places: readonly string[];
}

/** Gmail cuts the HTML of a mail off behind this many octets. */
const CLIPPED_AT = 102 * 1024;
const LONG_SUBJECT = 70;
const PLACES_SHOWN = 20;
const ORDER = { bad: 0, warn: 1, good: 2 } as const;

export function findProblems(mail: CaptureDetail): readonly Finding[] {
  const found = [
    ...partsOf(mail),
    ...subjectOf(mail),
    ...linksOf(mail.HTMLContent),
    ...picturesOf(mail.HTMLContent),
  ];
  found.push(...listHeadersOf(mail), ...leftoversOf(mail));
  return found.sort((a, b) => ORDER[a.level] - ORDER[b.level]);
}

function partsOf({ HTMLContent, PlainContent }: CaptureDetail): Finding[] {
  const bytes = new TextEncoder().encode(HTMLContent).length;
  const size = bytes < 1024 ? 'less than 1 KiB' : `${Math.round(bytes / 1024)} KiB`;
  return [
    PlainContent.trim() === ''
      ? warn(
          'There is no text part',
          'Watches, screen readers and spam filters read it: send PlainContent too.',
        )
      : good('It has a text part'),
    ...(HTMLContent === ''
      ? []
      : [
          bytes > CLIPPED_AT
            ? bad(
                `The HTML has ${size}`,
                'Gmail shows the first 102 KiB and hides the rest, the unsubscribe link with it.',
              )
            : good(`The HTML has ${size}; Gmail shows 102 KiB`),
        ]),
  ];
}

function subjectOf({ Subject }: CaptureDetail): Finding[] {
  if (Subject.trim() === '') return [bad('There is no subject', 'Many filters take that for spam.')];
  const length = [...Subject].length;
  return length > LONG_SUBJECT
    ? [warn(`The subject has ${length} characters`, 'Phones show some 40, most programs 70.')]
    : [];
}

function linksOf(html: string): Finding[] {
  const targets = [...tagsOf(html, ['a', 'area'])].flatMap(
    (link) => textOf(html, link, 'href')?.trim() ?? [],
  );
  if (targets.length === 0) return [];
  const some = (test: (target: string) => boolean) =>
    [...new Set(targets.filter(test))].slice(0, PLACES_SHOWN);
  const bare = some((one) => one === '' || !/^(?:[a-z][a-z0-9+.-]*:|#|\/\/)/i.test(one));
  const local = some((one) => isLocal(one));
  const plain = some((one) => /^http:\/\//i.test(one) && !isLocal(one));
  const found = [
    ...allOf('bad', bare, {
      words: ['link has no scheme', 'links have no scheme'],
      advice: 'They lead nowhere in a mail: begin them with https://.',
    }),
    ...allOf('bad', local, {
      words: ['link leads to this machine', 'links lead to this machine'],
      advice: 'Nobody else reaches localhost or a private address.',
    }),
    ...allOf('warn', plain, {
      words: ['link is not encrypted', 'links are not encrypted'],
      advice: 'Use https:// where the site has it.',
    }),
  ];
  return found.length > 0 ? found : [good('Every link has a scheme and leads to the network')];
}

function picturesOf(html: string): Finding[] {
  const pictures = [...tagsOf(html, ['img'])];
  if (pictures.length === 0) return [];
  const sourceOf = (one: HtmlTag) => (textOf(html, one, 'src') ?? '').slice(0, 200);
  const silent = pictures.filter((one) => textOf(html, one, 'alt') === null).map(sourceOf);
  const local = pictures
    .map(sourceOf)
    .filter((one) => isLocal(one) || (one !== '' && !/^(?:https?:|cid:|data:|\/\/)/i.test(one)));
  return [
    ...(silent.length === 0 ? [good('Every picture has an alt text')] : []),
    ...allOf('warn', silent, {
      words: ['picture has no alt text', 'pictures have no alt text'],
      advice: 'It is read out, and shown while pictures are blocked. alt="" for mere decoration.',
    }),
    ...allOf('bad', local, {
      words: ['picture is out of reach', 'pictures are out of reach'],
      advice: 'Give an address that begins with https://, or attach it with a Content-ID.',
    }),
  ];
}

function listHeadersOf({ Headers }: CaptureDetail): Finding[] {
  const has = (name: string) => Headers.some((one) => one.Name.toLowerCase() === name);
  if (has('list-unsubscribe'))
    return has('list-unsubscribe-post')
      ? [good('It can be unsubscribed with one click (List-Unsubscribe)')]
      : [
          warn(
            'List-Unsubscribe is without List-Unsubscribe-Post',
            'Gmail and Yahoo ask bulk senders for one click (RFC 8058).',
          ),
        ];
  return [
    warn(
      'There is no List-Unsubscribe',
      'Only newsletters and other bulk mail need it; Gmail and Yahoo ask for it there.',
    ),
  ];
}

/** Placeholders of a template that nobody filled in. */
function leftoversOf({ Subject, PlainContent, HTMLContent }: CaptureDetail): Finding[] {
  const text = `${Subject}\n${PlainContent}\n${HTMLContent}`;
  const left = new Set(
    [
      ...text.matchAll(/\{\{[^{}\n]{1,60}\}\}|\{%[^%\n]{1,60}%\}|\[object Object\]|\bundefined\b(?=[,!.<])/g),
    ].map(([one]) => one),
  );
  return allOf('bad', [...left], {
    words: ['placeholder is not filled in', 'placeholders are not filled in'],
    advice: 'A value is missing in the program that sends it.',
  });
}

/** The start tags of these names, as a browser finds them. */
function* tagsOf(html: string, names: readonly string[]): Generator<HtmlTag> {
  for (let at = html.indexOf('<'); at >= 0; at = html.indexOf('<', at)) {
    const tag = readTag(html, at);
    at = typeof tag === 'number' ? tag : tag.end;
    if (typeof tag === 'object' && !tag.isClosing) {
      if (names.includes(tag.name)) yield tag;
      if (RAW_TEXT.has(tag.name)) at = endTagOf(html, tag.name, at);
    }
    if (at === UNENDED) return;
  }
}

function textOf(html: string, tag: HtmlTag, name: string): string | null {
  const written = attributeOf(html, tag, name);
  return written === null ? null : decodeEntities(written);
}

function isLocal(target: string): boolean {
  return /^(?:https?:)?\/\/(?:localhost|127\.|0\.0\.0\.0|10\.|192\.168\.|172\.(?:1[6-9]|2[0-9]|3[01])\.|\[::1\])/i.test(
    target,
  );
}

/** One finding for all places that have the same fault; none where there is no such place. `words`: of one, of several. */
function allOf(
  level: Finding['level'],
  places: readonly string[],
  { words: [one, several], advice }: { words: readonly [string, string]; advice: string },
): Finding[] {
  if (places.length === 0) return [];
  const title = `${places.length} ${places.length === 1 ? one : several}`;
  return [{ level, title, advice, places: places.slice(0, PLACES_SHOWN) }];
}

const good = (title: string): Finding => ({ level: 'good', title, advice: '', places: [] });
const warn = (title: string, advice: string): Finding => ({ level: 'warn', title, advice, places: [] });
const bad = (title: string, advice: string): Finding => ({ level: 'bad', title, advice, places: [] });
