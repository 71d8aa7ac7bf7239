/** Makes a token: its name, rights, domains and limits; then shows it once, with a command that tries it. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { CreateTokenRequest, Me } from '../../../../src/client/api-types.ts';
import { createToken } from '../../../api/access.ts';
import { fieldError } from '../../../api/call.ts';
import { mayDo } from '../../../api/me.ts';
import { CodeBlock } from '../../../components/copy.tsx';
import { Dialog, DialogForm } from '../../../components/dialog.tsx';
import { Field } from '../../../components/field.tsx';
import { ShownOnce } from '../../../components/shown-once.tsx';
import { DomainField, wordsOf } from '../domain-field.tsx';
import { TOKENS } from '../keys.ts';
import { PRESETS, type PresetName } from '../rights-words.ts';
import { firstCall } from './first-call.ts';
import { PresetCards } from './preset-cards.tsx';
import { LIMIT_FIELDS, TokenLimits } from './token-limits.tsx';

export function NewTokenDialog({ me, onClose }: { me: Me; onClose(): void }) {
  const queries = useQueryClient();
  const [preset, setPreset] = useState<PresetName>('Send');
  const [domains, setDomains] = useState<readonly string[]>(
    me.Domains.length === 1 ? me.Domains.map(({ Domain }) => Domain) : [],
  );
  const making = useMutation({
    mutationFn: createToken,
    onSuccess: () => void queries.invalidateQueries({ queryKey: TOKENS }),
  });
  const given = preset === 'Admin' ? ['*'] : domains;
  if (making.data !== undefined)
    return (
      <Dialog isWide title="The new token" onClose={onClose}>
        <ShownOnce what="token" text={making.data.Token} onClose={onClose}>
          <div className="grid gap-2">
            <p>Try it:</p>
            <CodeBlock
              label="Copy the command"
              text={firstCall({
                origin: location.origin,
                token: making.data.Token,
                mayHearOf: me.Domains,
                domains: given,
              })}
            />
          </div>
        </ShownOnce>
      </Dialog>
    );
  return (
    <Dialog isWide title="New token" onClose={onClose}>
      <DialogForm
        running={making}
        action="Make the token"
        missing={given.length > 0 ? null : 'Choose a domain first'}
        isErrorAtField={LIMIT_FIELDS.some((pointer) => fieldError(making.error, pointer) !== undefined)}
        onSubmit={(form) => making.mutate(wantedOf(form, preset, given))}
        onCancel={onClose}
      >
        <Field
          label="Name"
          name="Name"
          required
          maxLength={128}
          autoComplete="off"
          hint="What uses it: “shop”, “billing on host-3”"
        />
        <PresetCards
          presets={PRESETS.filter(({ name }) => name !== 'Admin' || mayDo(me, 'admin'))}
          chosen={preset}
          onChosen={setPreset}
        />
        {preset !== 'Admin' && <DomainField me={me} chosen={domains} onChosen={setDomains} />}
        <TokenLimits error={making.error} />
      </DialogForm>
    </Dialog>
  );
}

function wantedOf(form: FormData, Preset: PresetName, Domains: readonly string[]): CreateTokenRequest {
  const said = (name: string) => String(form.get(name) ?? '').trim();
  const addresses = wordsOf(said('IPAllowList'));
  const ends = said('ExpiresIn');
  return {
    Name: said('Name'),
    Preset,
    Domains: [...Domains],
    ...(ends === '' ? {} : { ExpiresIn: ends === 'never' ? 'never' : Number(ends) }),
    ...(addresses.length === 0 ? {} : { IPAllowList: addresses }),
    ...(said('RateLimit') === '' ? {} : { RateLimit: Number(said('RateLimit')) }),
    ...(form.has('Sandbox') ? { Sandbox: true } : {}),
  };
}
