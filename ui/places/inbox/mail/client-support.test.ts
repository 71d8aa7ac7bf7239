/** What mail programs lack, found by the names of features in HTML and CSS, against the data that ships. */
import data from 'caniemail/caniemail.json' with { type: 'json' };
import { describe, expect, it } from 'vitest';
import { missingFeatures, type SupportData } from './client-support.ts';

const found = (html: string) => missingFeatures(html, data as unknown as SupportData);

describe('what mail programs lack', () => {
  it('is nothing in plain mail', () => {
    expect(found('<p>Hello, video: grid; display flex</p>').map(({ title }) => title)).not.toContain(
      'display:flex',
    );
  });

  it('is found in style sheets and attributes, with the programs', () => {
    const html =
      '<style>.a { display: flex; gap: 2rem }</style><div style="background: linear-gradient(red, blue)">x</div>';
    const titles = found(html).map(({ title }) => title);
    expect(titles).toEqual(expect.arrayContaining(['display:flex', 'linear-gradient()']));
    const flex = found(html).find(({ title }) => title === 'display:flex');
    expect([...(flex?.none ?? []), ...(flex?.partly ?? [])]).toContain('Outlook');
    expect(flex?.url).toBe('https://www.caniemail.com/features/css-display-flex/');
  });

  it('names what is missing most widely first', () => {
    const weights = found(
      '<video src="a.mp4"></video><style>p{width:1px;mix-blend-mode:multiply}</style>',
    ).map(({ none, partly }) => 3 * none.length + partly.length);
    expect(weights.length).toBeGreaterThan(1);
    expect(weights).toEqual([...weights].sort((a, b) => b - a));
  });

  it('is found in a style sheet that is not closed', () => {
    expect(found('<style>.a { display: flex }').map(({ title }) => title)).toContain('display:flex');
  });
});
