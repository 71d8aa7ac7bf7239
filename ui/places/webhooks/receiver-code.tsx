/** A receiver that verifies the signature, to copy: the code of the guide, in several languages. */
import { useState } from 'react';
import page from '../../../docs/howto/receive-webhooks.md?raw';
import { CodeBlock } from '../../components/copy.tsx';
import { Segments } from '../../components/segments.tsx';
import { type Language, receiverFiles } from './receiver-files.ts';

const LANGUAGES = [
  { value: 'node', name: 'Node' },
  { value: 'python', name: 'Python' },
  { value: 'php', name: 'PHP' },
  { value: 'curl', name: 'curl' },
] as const;

export function ReceiverCode() {
  const [language, setLanguage] = useState<Language>('node');
  return (
    <div className="grid min-w-0 gap-3">
      <Segments
        label="Language"
        value={language}
        choices={LANGUAGES}
        onValue={(value) => setLanguage(value)}
      />
      <p className="max-w-prose text-soft">
        {language === 'curl'
          ? 'Calls a receiver with a signed sample, as this server does. The secret is read from the variable WEBHOOK_SECRET.'
          : 'Verifies the signature, handles each event once and answers. The secret is read from the variable WEBHOOK_SECRET.'}
      </p>
      {receiverFiles(page, language).map(({ name, text }) => (
        <CodeBlock key={name} text={text} label={`Copy ${name}`} />
      ))}
    </div>
  );
}
