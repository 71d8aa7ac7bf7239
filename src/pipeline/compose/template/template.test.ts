/** The engine on what people write: values, sections, defaults, whitespace, mistakes with their places, limits. */
import { describe, expect, it } from 'vitest';
import { TEMPLATE_LIMITS } from './limits.ts';
import { compileTemplate, fillTemplate } from './template.ts';
import { TemplateError } from './template-error.ts';

type Variables = Record<string, unknown>;

function text(source: string, variables: Variables = {}): string | null {
  return fillTemplate(compileTemplate({ subject: null, html: null, text: source }), variables).text;
}
function html(source: string, variables: Variables = {}): string | null {
  return fillTemplate(compileTemplate({ subject: null, html: source, text: null }), variables).html;
}
function subject(source: string, variables: Variables = {}): string | null {
  return fillTemplate(compileTemplate({ subject: source, html: null, text: null }), variables).subject;
}
function mistake(work: () => unknown): TemplateError {
  try {
    work();
  } catch (error) {
    if (error instanceof TemplateError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('values', () => {
  it.each([
    ['{{name}}', { name: 'Ann' }, 'Ann'],
    ['{{ name }}', { name: 'Ann' }, 'Ann'],
    ['{{a.b.c}}', { a: { b: { c: 7 } } }, '7'],
    ['{{list.1}}', { list: ['x', 'y'] }, 'y'],
    ['{{yes}} {{no}}', { yes: true, no: false }, 'true false'],
    ['{{größe}}', { größe: 'L' }, 'L'],
    ['{{{a}}} {{&a}}', { a: '<b>' }, '<b> <b>'],
    ['{{"{{"}} and }}', {}, '{{ and }}'],
    ['a{{! a note }}b{{!-- {{x}} --}}c', {}, 'abc'],
  ])('%s', (source, variables, result) => {
    expect(text(source, variables)).toBe(result);
  });

  it.each([
    ['{{name | default: "friend"}}', {}, 'friend'],
    ["{{name|default:'friend'}}", { name: null }, 'friend'],
    ['{{name | default: "friend"}}', { name: '' }, 'friend'],
    ['{{n | default: "none"}}', { n: 0 }, '0'],
    ['{{n | default: "a \\"b\\" \\\\ | }}"}}', {}, 'a "b" \\ | }}'],
  ])('take a default: %s', (source, variables, result) => {
    expect(text(source, variables)).toBe(result);
  });

  it('come from own properties alone', () => {
    const asked = [
      '__proto__',
      'constructor',
      'toString',
      'x.constructor',
      'x.__proto__.y',
      's.length',
      'f.name',
    ];
    const source = asked.map((name) => `{{${name}}}`).join('');
    const variables = { x: {}, s: 'text', f: () => 1 };
    const compiled = compileTemplate({ subject: null, html: null, text: source });
    const filled = fillTemplate(compiled, variables);
    expect(filled.text).toBe('');
    expect(filled.missing).toEqual(asked);
    expect(text('{{__proto__.a}}', JSON.parse('{"__proto__": {"a": "own"}}') as Variables)).toBe('own');
  });

  it('never call what they are given', () => {
    let called = 0;
    const f = () => ++called;
    expect(mistake(() => text('{{f}}', { f })).kind).toBe('value');
    expect(text('{{#f}}x{{/f}}', { f })).toBe('x');
    expect(called).toBe(0);
  });

  it('that are lists or objects are refused with what to write instead', () => {
    expect(mistake(() => text('a\n  {{items}}', { items: [1] }))).toMatchObject({
      kind: 'value',
      line: 2,
      column: 3,
      snippet: '{{items}}',
      message: expect.stringContaining('{{#items}}'),
    });
    expect(mistake(() => text('{{o}}', { o: {} })).message).toContain('name one of its members');
  });
});

describe('sections', () => {
  const items = [{ n: 'a' }, { n: 'b' }];
  it.each([
    ['{{#items}}{{n}},{{/items}}', { items }, 'a,b,'],
    ['{{#items}}{{.}};{{/items}}', { items: [1, 'x', true] }, '1;x;true;'],
    ['{{#items}}{{@index}}/{{@number}}{{^@last}}, {{/@last}}{{/items}}', { items: [0, 0] }, '0/1, 1/2'],
    ['{{#items}}{{#@first}}first {{/@first}}{{n}}{{/items}}', { items }, 'first ab'],
    ['{{#a}}{{x}} {{y}}{{/a}}', { a: { x: 1 }, y: 2 }, '1 2'],
    ['{{#a}}yes{{/a}}{{^a}}no{{/a}}', { a: 0 }, 'no'],
    ['{{#a}}yes{{/a}}{{^a}}no{{/a}}', { a: 'x' }, 'yes'],
    ['{{^a}}none{{/a}}', { a: [] }, 'none'],
    ['{{#a.b}}{{c}}{{/a.b}}', { a: { b: { c: 3 } } }, '3'],
    ['{{#a}}{{#b}}{{c}}{{d}}{{/b}}{{/a}}', { a: { b: [{ c: 1 }, {}], c: 9 }, d: 'd' }, '1d9d'],
  ])('%s', (source, variables, result) => {
    expect(text(source, variables)).toBe(result);
  });

  it('alone on a line leave no blank lines', () => {
    const source = 'Items:\n{{#items}}\n  - {{n}}\n{{/items}}\n{{! note }}\nEnd';
    expect(text(source, { items })).toBe('Items:\n  - a\n  - b\nEnd');
    expect(text('A\r\n  {{#x}}\r\nB\r\n{{/x}}', { x: 1 })).toBe('A\r\nB\r\n');
    expect(text('A\n{{#x}} B\n{{/x}} C', { x: 1 })).toBe('A\n B\n C');
  });

  it('tell what was missing, but not for what they ask', () => {
    const compiled = compileTemplate({
      subject: '{{a}}',
      html: '{{#x}}{{b}}{{/x}}{{c}}',
      text: '{{a}}{{d.e}}',
    });
    expect(fillTemplate(compiled, {}).missing).toEqual(['a', 'c', 'd.e']);
    expect(fillTemplate(compiled, { x: 1 }).missing).toEqual(['a', 'b', 'c', 'd.e']);
    expect(compiled.names).toEqual(['a', 'x', 'b', 'c', 'd.e']);
    expect(fillTemplate(compiled, {}, { subject: false, html: true, text: false }).missing).toEqual(['c']);
  });
});

describe('subjects', () => {
  it('stay one line whatever a value holds', () => {
    expect(subject('Hi {{n}}!', { n: 'a\r\nBcc: x@example.net\u0000\u0085\u2028b' })).toBe(
      'Hi a Bcc: x@example.net b!',
    );
    expect(subject('{{n}}', { n: '<&>' })).toBe('<&>');
    expect(mistake(() => subject('a\nb')).message).toContain('one line');
  });
});

describe('mistakes', () => {
  it.each([
    ['{{name', 1, 1, 'not closed'],
    ['a\n b {{#x}}', 2, 4, 'not closed with {{/x}}'],
    ['{{/x}}', 1, 1, 'No section is open'],
    ['{{#a}}{{#b}}{{/a}}', 1, 13, 'cannot close {{#b}}'],
    ['{{#if user}}', 1, 1, '{{#user}} … {{/user}}'],
    ['{{else}}', 1, 1, '{{^name}}'],
    ['{{> footer}}', 1, 1, 'cannot include'],
    ['{{=<% %>=}}', 1, 1, 'cannot be changed'],
    ['{{! note', 1, 1, 'not closed'],
    ['{{a b}}', 1, 1, 'letters, digits'],
    ['{{}}', 1, 1, 'names nothing'],
    ['{{a | upper}}', 1, 1, 'only a default'],
    ['{{a | default: "x}}', 1, 1, 'not closed'],
    ['{{@key}}', 1, 1, 'index, number, first or last'],
    ['{{{a}}', 1, 1, '}}}'],
  ])('%j', (source, line, column, words) => {
    const error = mistake(() => text(source));
    expect(error).toMatchObject({ kind: 'syntax', part: 'text', line, column });
    expect(error.message).toContain(words);
    expect(source).toContain(error.snippet.trim());
  });
});

describe('limits', () => {
  const steps = { list: Array.from({ length: 1000 }, () => 0) };
  const deep = (count: number) => '{{#a}}'.repeat(count) + '{{/a}}'.repeat(count);
  it.each([
    ['tags', () => text('{{a}}'.repeat(TEMPLATE_LIMITS.maxTags + 1))],
    ['depth', () => text(deep(TEMPLATE_LIMITS.maxDepth + 1))],
    ['octets of the template', () => html('ä'.repeat(TEMPLATE_LIMITS.maxSourceBytes / 2 + 1))],
    ['characters of the subject', () => subject('x'.repeat(TEMPLATE_LIMITS.maxSubjectChars + 1))],
    ['names of a path', () => text(`{{${'a.'.repeat(TEMPLATE_LIMITS.maxPathNames)}a}}`)],
    ['characters of a tag', () => text(`{{${'a'.repeat(5000)}}}`)],
    ['steps', () => text('{{#list}}{{#list}}{{#list}}x{{/list}}{{/list}}{{/list}}', steps)],
    ['steps without output', () => text('{{#list}}{{#list}}{{/list}}{{/list}}', steps)],
    ['characters of one value', () => text('{{a}}', { a: 'x'.repeat(TEMPLATE_LIMITS.maxValueChars + 1) })],
    ['octets in UTF-8', () => text('{{a}}{{a}}', { a: '€'.repeat(TEMPLATE_LIMITS.maxOutputBytes / 4) })],
    ['octets after escaping', () => html('{{a}}', { a: '<'.repeat(TEMPLATE_LIMITS.maxOutputBytes / 4 + 1) })],
  ])('on %s', (_, work) => {
    expect(mistake(work).kind).toBe('limit');
  });

  it('let what is just inside them pass', () => {
    expect(text('{{a}}'.repeat(TEMPLATE_LIMITS.maxTags), { a: 'x' })).toHaveLength(TEMPLATE_LIMITS.maxTags);
    expect(text(deep(TEMPLATE_LIMITS.maxDepth), { a: {} })).toBe('');
  });
});
