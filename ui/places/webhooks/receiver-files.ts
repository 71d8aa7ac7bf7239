/** The receivers of the guide, by language, as the files that one copies: the guide is their only source. Pure. */

export type Language = 'node' | 'python' | 'php' | 'curl';

export interface ReceiverFile {
  name: string;
  text: string;
}

const NAMES: Readonly<Record<Language, readonly string[]>> = {
  node: ['receiver.mjs', 'verify.mjs'],
  python: ['receiver.py'],
  php: ['receiver.php'],
  curl: ['call.sh'],
};

/** `page`: the guide in Markdown. A block names its file in a comment at its beginning; the first of a name counts. */
export function receiverFiles(page: string, language: Language): readonly ReceiverFile[] {
  const blocks = [...page.matchAll(/^```[a-z]+\n((?:<\?php\n)?(?:\/\/|#) ([\w.]+)\n[\s\S]*?)^```/gm)];
  return NAMES[language].flatMap((name) => {
    const text = blocks.find((block) => block[2] === name)?.[1];
    return text === undefined ? [] : [{ name, text }];
  });
}
