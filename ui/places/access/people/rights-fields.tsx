/** Role, domains and preset of a person, as they are added or changed. */
import type { Me, Person } from '../../../../src/client/api-types.ts';
import { CheckField, Options, SelectField } from '../../../components/field.tsx';
import { DomainField } from '../domain-field.tsx';
import { MEMBER_PRESETS, ROLES } from './roles.ts';

export interface Rights {
  role: Person['Role'];
  domains: readonly string[];
  preset: NonNullable<Person['Preset']>;
}

/** Whether the server takes them. */
export const isWhole = ({ role, domains }: Rights): boolean => role === 'operator' || domains.length > 0;

/** As the API takes them. */
export function rightsBody({ role, domains, preset }: Rights) {
  return {
    Role: role,
    ...(role === 'operator' ? {} : { Domains: [...domains] }),
    ...(role === 'member' ? { Preset: preset } : {}),
  };
}

export function RightsFields({
  me,
  rights,
  onRights,
}: {
  me: Me;
  rights: Rights;
  onRights(rights: Rights): void;
}) {
  const { role, domains, preset } = rights;
  const isAll = domains.includes('*');
  return (
    <>
      <SelectField
        label="Role"
        value={role}
        hint={ROLES.find(({ value }) => value === role)?.may}
        onChange={({ target }) => {
          const next = target.value as Person['Role'];
          onRights({
            ...rights,
            role: next,
            domains: next === 'viewer' ? domains : domains.filter((one) => one !== '*'),
          });
        }}
      >
        <Options of={ROLES.map(({ value, name }) => [value, name] as const)} />
      </SelectField>
      {role === 'member' && (
        <SelectField
          label="Rights"
          value={preset}
          onChange={({ target }) => onRights({ ...rights, preset: target.value as Rights['preset'] })}
        >
          <Options of={MEMBER_PRESETS} />
        </SelectField>
      )}
      {role === 'viewer' && (
        <CheckField
          label="All domains"
          checked={isAll}
          onChange={({ target }) => onRights({ ...rights, domains: target.checked ? ['*'] : [] })}
        />
      )}
      {role !== 'operator' && !isAll && (
        <DomainField me={me} chosen={domains} onChosen={(next) => onRights({ ...rights, domains: next })} />
      )}
    </>
  );
}
