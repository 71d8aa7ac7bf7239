/** A test that waits for such a mail, to copy: for the command line, curl, Node and Python. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { CaptureDetail } from '../../../../src/client/api-types.ts';
import { ME, tokenFileOf } from '../../../api/me.ts';
import { CodeBlock } from '../../../components/copy.tsx';
import { Segments } from '../../../components/segments.tsx';
import { type Kind, testCode } from './test-code-text.ts';

const KINDS = [
  { value: 'cli', name: 'Command' },
  { value: 'curl', name: 'curl' },
  { value: 'node', name: 'Node' },
  { value: 'python', name: 'Python' },
] as const;

export function TestCode({ mail }: { mail: CaptureDetail }) {
  const [kind, setKind] = useState<Kind>('cli');
  const { data: me } = useQuery(ME);
  const text = testCode(kind, mail, location.origin, me);
  return (
    <div className="grid gap-3 p-4">
      <Segments label="Language" value={kind} choices={KINDS} onValue={(value) => setKind(value)} />
      <p className="text-soft">
        Waits up to 30 seconds for a mail to this address with this subject; one that is there already counts.
        {kind !== 'cli' && tokenFileOf(me) === null && (
          <>
            {' '}
            The variable <code className="font-mono">POSTRIDER_TOKEN</code> holds a token with the scope
            email:read.
          </>
        )}
      </p>
      <CodeBlock text={text} label="Copy the test code" />
    </div>
  );
}
