/** Makes a token: its name, rights, domains and limits; then shows it once, with a command that tries it. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import type { CreateTokenRequest, Me } from '../../../../src/client/api-types.ts';
import { createToken } from '../../../api/access.ts';
import { fieldError } from '../../../api/call.ts';
import { mayDo } from '../../../api/me.ts';
import { Button } from '../../../components/button.tsx';
import { CodeBlock } from '../../../components/copy.tsx';
import { Dialog } from '../../../components/dialog.tsx';
import { Field, FormError } from '../../../components/field.tsx';
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
  const isAtField = LIMIT_FIELDS.some((pointer) => fieldError(making.error, pointer) !== undefined);
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    making.mutate(wantedOf(new FormData(event.currentTarget), preset, given));
  };
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
      <form onSubmit={submit} className="grid gap-4">
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
        {!isAtField && <FormError error={making.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="main" disabled={making.isPending || given.length === 0}>
            Make the token
          </Button>
        </div>
      </form>
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
