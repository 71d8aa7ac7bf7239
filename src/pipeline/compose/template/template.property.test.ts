/**
 * What holds for any template and any variables: the engine throws its own error or nothing, stays within its limits,
 * takes time in proportion, and an escaped value never leaves its place.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpuMsOf } from '../../../../test/fakes/thread-cpu.ts';
import { decodeEntities } from '../html-entities.ts';
import { SMALL_LIMITS, TEMPLATE_LIMITS, type TemplateLimits } from './limits.ts';
import { compileTemplate, fillTemplate } from './template.ts';
import { TemplateError } from './template-error.ts';

const SNIPPETS = [
  '{{a}}',
  '{{{a}}}',
  '{{&a}}',
  '{{.}}',
  '{{@index}}',
  '{{#a}}',
  '{{^a}}',
  '{{/a}}',
  '{{#b}}',
  '{{/b}}',
  '{{a.b}}',
  '{{a | default: "x"}}',
  '{{! c }}',
  '{{',
  '}}',
  '{{"q"}}',
  '{{__proto__}}',
  '{{constructor.name}}',
  '<',
  '>',
  '</',
  '<a ',
  '<a href="',
  'href=',
  '"',
  "'",
  ' ',
  '\n',
  '=',
  '<!--',
  '-->',
  '<script>',
  '</script>',
  '<style>',
  '</style>',
  '<title>',
  '</title>',
  '<p>',
  '</p>',
  'title="',
  'style="',
  'x',
  ':',
  '/',
  '?',
  '#',
  '&',
];

const source = fc
  .array(fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...SNIPPETS) }, fc.string({ maxLength: 6 })), {
    maxLength: 25,
  })
  .map((pieces) => pieces.join(''));
const variables = fc.dictionary(
  fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor', 'list'),
  fc.jsonValue({ maxDepth: 3 }),
);
const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom('<', '>', '"', "'", '&', ' ', '=', '`', '/', ':', '\r', '\n', '\0', 'x', '-'),
  }),
);

/** What a value is after an HTML parser has read it: without control characters, with LF line ends. */
function cleaned(value: string): string {
  return (
    value
      .replace(/\r\n?/g, '\n')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: as the engine promises
      .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '')
      .toWellFormed()
  );
}

describe('for any template and any variables', () => {
  it('nothing but a TemplateError is thrown, and errors point into the source', () => {
    fc.assert(
      fc.property(source, source, source, variables, (subject, html, text, given) => {
        try {
          const filled = fillTemplate(compileTemplate({ subject, html, text }), given);
          // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be there
          expect(filled.subject).not.toMatch(/[\u0000-\u001f\u007f]/);
        } catch (error) {
          if (!(error instanceof TemplateError)) throw error;
          const part = { subject, html, text }[error.part];
          const line = part.split('\n')[error.line - 1];
          expect(line).toBeDefined();
          expect(error.column).toBeLessThanOrEqual((line?.length ?? 0) + 1);
        }
      }),
      { numRuns: 3000 },
    );
  });

  it('what the prototype of objects holds is never found', () => {
    const name = fc.constantFrom(...Object.getOwnPropertyNames(Object.prototype), 'length', 'map', 'charAt');
    fc.assert(
      fc.property(
        fc.array(name, { minLength: 1, maxLength: 4 }),
        fc.jsonValue({ maxDepth: 2 }),
        (path, x) => {
          const at = `x.${path.join('.')}`;
          const compiled = compileTemplate({ subject: null, html: null, text: `{{#${at}}}found{{/${at}}}` });
          const value = Array.isArray(x) ? {} : x;
          const own = typeof value === 'object' && value !== null && Object.hasOwn(value, path[0] ?? '');
          if (!own) expect(fillTemplate(compiled, { x: value }).text).toBe('');
        },
      ),
    );
  });

  it('never takes long, whatever fills it: quadratic work would take minutes', () => {
    const shapes = ['{{#a}}', '{{^a}}', '{{a', '<a ', '<!--', '{{!', '"', '   ', '{{a}} ', '\n ', '<', '&'];
    for (const shape of shapes) {
      const big = shape.repeat(Math.floor(TEMPLATE_LIMITS.maxSourceBytes / shape.length));
      const ms = cpuMsOf(() => {
        for (const source of [big, `<p title="${big}`, `{{! c }}${big}`]) {
          const html = source.slice(0, TEMPLATE_LIMITS.maxSourceBytes);
          try {
            fillTemplate(compileTemplate({ subject: null, html, text: null }), { a: 'x' });
          } catch (error) {
            if (!(error instanceof TemplateError)) throw error;
          }
        }
      });
      expect(ms, shape).toBeLessThan(5000);
    }
  });
});

describe('filling in', () => {
  /** Values that cost much and leave little or nothing behind. */
  const values = ['\u0000', '\r\n', "'", '%', '/', ':', ' ', '\ud800', '\u2028'];
  const places = [
    '{{v}}',
    '{{{v}}}',
    '<a href="{{v}}">',
    '<a href="/{{v}}">',
    '<a href={{v}}>',
    '<p style="{{v}}">',
  ];

  function spend(limits: TemplateLimits): number {
    let most = 0;
    for (const place of places) {
      for (const char of values) {
        const html = `{{#l}}${place}{{/l}}`;
        const given = { v: char.repeat(limits.maxValueChars), l: Array.from({ length: 5_000 }, () => 0) };
        const template = compileTemplate({ subject: '{{#l}}{{v}}{{/l}}', html, text: '{{#l}}{{v}}{{/l}}' });
        for (const only of ['subject', 'html', 'text'] as const) {
          const wanted = { subject: false, html: false, text: false, [only]: true };
          const ms = cpuMsOf(() => {
            try {
              fillTemplate(template, given, wanted, limits);
            } catch (error) {
              if (!(error instanceof TemplateError)) throw error;
            }
          });
          most = Math.max(most, ms);
        }
      }
    }
    return most;
  }

  it('is bounded by what it reads too: values that escape to nothing took seconds', () => {
    const html = '{{#l}}{{v}}{{/l}}';
    const template = compileTemplate({ subject: null, html, text: null });
    const l = Array.from({ length: 1_500 }, () => 0);
    expect(() => fillTemplate(template, { l, v: '\u0000'.repeat(200_000) })).toThrow(/reads more than/);
    expect(spend(TEMPLATE_LIMITS)).toBeLessThan(3_000);
  });

  it('is over before anybody waits for it, within the limits of the event loop', () => {
    spend(SMALL_LIMITS);
    expect(spend(SMALL_LIMITS)).toBeLessThan(50);
  });
});

describe('an escaped value', () => {
  it('is read back from text as it was, and brings no tag along', () => {
    fc.assert(
      fc.property(hostile, (x) => {
        const compiled = compileTemplate({ subject: null, html: '<p>{{x}}</p>', text: null });
        const inner = (fillTemplate(compiled, { x }).html ?? '').slice(3, -4);
        expect(inner).not.toMatch(/[<>"']/);
        expect(decodeEntities(inner)).toBe(cleaned(x));
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ['"', '<p title="{{x}}">'],
    ["'", "<p title='{{x}}'>"],
    ['"', '<p title={{x}}>'],
  ])('is read back from an attribute in %s', (quote, html) => {
    const compiled = compileTemplate({ subject: null, html, text: null });
    fc.assert(
      fc.property(hostile, (x) => {
        const out = fillTemplate(compiled, { x }).html ?? '';
        expect(out.startsWith(`<p title=${quote}`) && out.endsWith(`${quote}>`)).toBe(true);
        const inner = out.slice(10, -2);
        expect(inner).not.toMatch(/[<>"']/);
        expect(decodeEntities(inner)).toBe(cleaned(x));
      }),
    );
  });

  it('leads nowhere but to a web page, a mailbox, a telephone or a part of the mail', () => {
    const compiled = compileTemplate({ subject: null, html: '<a href="{{x}}">', text: null });
    const start = fc.constantFrom(
      'javascript:',
      'java\tscript:',
      'JAVASCRIPT:',
      'data:',
      'https:',
      '',
      ' ',
      '//',
    );
    fc.assert(
      fc.property(start, hostile, (word, rest) => {
        try {
          const out = fillTemplate(compiled, { x: word + rest }).html ?? '';
          const { protocol } = new URL(decodeEntities(out.slice(9, -2)), 'https://base.example/');
          expect(['http:', 'https:', 'mailto:', 'tel:', 'sms:', 'cid:']).toContain(protocol);
        } catch (error) {
          // A URL that no parser takes leads nowhere either.
          if (!(error instanceof TemplateError) && !(error instanceof TypeError)) throw error;
        }
      }),
      { numRuns: 1000 },
    );
  });
});
