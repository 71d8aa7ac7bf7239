/** docs/howto/templates.md against the engine: every line of its tables of syntax and mistakes is tried. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { compileTemplate, fillTemplate } from '../../src/pipeline/compose/template/template.ts';
import { TemplateError } from '../../src/pipeline/compose/template/template-error.ts';

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'howto', 'templates.md'), 'utf8');

/** Rows of the first table behind a heading, without the code marks. */
function rows(heading: string, first: string): readonly (readonly string[])[] {
  const section = PAGE.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const lines = section.split('\n');
  const start = lines.findIndex((line) => line.startsWith(`| ${first} |`));
  const found: string[][] = [];
  for (const line of lines.slice(start + 2)) {
    if (!line.startsWith('|')) break;
    found.push(line.slice(2, -2).split(' | ').map(plain));
  }
  return found;
}

function plain(cell: string): string {
  return cell.replace(/^`(.*)`$/, '$1').replaceAll('&#124;', '|');
}

const html = (source: string) => compileTemplate({ subject: null, html: source, text: null });

describe('the syntax', () => {
  const cases = rows('The syntax', 'Template');
  it('is shown', () => expect(cases.length).toBeGreaterThan(10));
  it.each(cases)('%s with %s gives %s', (template = '', variables = '', result = '') => {
    expect(fillTemplate(html(template), JSON.parse(variables)).html).toBe(result);
  });
});

describe('the mistakes', () => {
  const cases = rows('Errors', 'HTML');
  it('are shown', () => expect(cases.length).toBeGreaterThan(30));
  it.each(cases)('%s: %s', (template = '', words = '') => {
    let message = 'nothing was refused';
    try {
      html(template);
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      ({ message } = error);
    }
    expect(message).toContain(words);
  });

  it('are all there: every sentence of the compiler stands on the page', () => {
    const shown = cases.map(([, words = '']) => words);
    for (const file of ['scan.ts', 'compile.ts', 'html-position.ts', 'html-tokenizer.ts']) {
      const code = readFileSync(
        join(import.meta.dirname, '../../src/pipeline/compose/template', file),
        'utf8',
      );
      for (const [, quoted = ''] of code.matchAll(/['`]([A-Z][a-z]* [^'`\n]{18,})['`]/g)) {
        const start = quoted.split(/\$\{|;/)[0] ?? '';
        if (/(?:may have|may be) at most/.test(quoted) || start.startsWith('A subject')) continue;
        const beginning = start.slice(0, 20);
        expect(
          shown.some((words) => words.startsWith(beginning) || quoted.includes(words)),
          quoted,
        ).toBe(true);
      }
    }
  });
});
