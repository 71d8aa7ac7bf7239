import { expect, it } from 'vitest';
import type { CaptureDetail } from '../../../../src/client/api-types.ts';
import { cpuMsOf } from '../../../../test/fakes/thread-cpu.ts';
import { findProblems } from './find-problems.ts';

const placesOf = (HTMLContent: string) => {
  const mail = { Subject: 'Hello', PlainContent: 'Hello', HTMLContent, Headers: [] };
  return findProblems(mail as unknown as CaptureDetail)
    .filter(({ places }) => places.length > 0)
    .map(({ title, places }) => [title, ...places]);
};

it('finds the links and pictures that a browser finds', () => {
  const html = `<!-- <a href="in-a-comment"> --><style><a href="in-a-style"></style><A HREF='shop&amp;bag'>a</A>
    <map><area href=//localhost:80/x href="second"></map><a name="no-target"><img src="cid:logo" alt><img title="<img>" src=" http://10.0.0.1/p">`;
  expect(placesOf(html)).toEqual([
    ['1 link has no scheme', 'shop&bag'],
    ['1 link leads to this machine', '//localhost:80/x'],
    ['1 picture is out of reach', ' http://10.0.0.1/p'],
    ['1 picture has no alt text', ' http://10.0.0.1/p'],
  ]);
});

it('takes time in proportion to the HTML, however deep its elements are nested', () => {
  const html = '<table><tr><td><b><a href="x"><img>'.repeat(100_000);
  expect(cpuMsOf(() => placesOf(html))).toBeLessThan(2_000);
});
