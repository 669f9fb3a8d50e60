/** The fields of an application, the same where it is registered and where it is changed. */
import { Checkbox, MultiSelect, Select, TagsInput, Textarea, TextInput } from '@mantine/core';
import type { Permission } from '@switchyard/contract';
import { Problem } from '../../components/layout/error-message.tsx';
import { useTranslate } from '../../locales/index.ts';
import { type Draft, faultOfList } from './application-draft.ts';
import { flows } from './application-kinds.ts';
import { useRoles } from './application-queries.ts';

export type FieldsProps = {
  readonly draft: Draft;
  readonly faults: Readonly<Record<string, string>>;
  readonly onChange: (change: Partial<Draft>) => void;
};

/** What a field of the form is called in a refusal: its own line shows it. */
export const inlineErrorFields = [
  'name',
  'description',
  'clientId',
  'entityId',
  'storeId',
  'securityFlows',
  'redirectUris',
  'webOrigins',
  'roles',
  'services',
  'callbackError',
  'accessTokenSeconds',
  'accessTokenAlgorithm',
  'accessTokenType',
  // Those of lists come with the number of the line.
  ...Array.from({ length: 50 }, (_, at) => [`redirectUris.${at}`, `webOrigins.${at}`]).flat(),
  ...Array.from({ length: 20 }, (_, at) => [`roles.${at}`, `services.${at}`]).flat(),
];

export function NameFields({ draft, faults, onChange }: FieldsProps) {
  const t = useTranslate('applications');
  return (
    <>
      <TextInput
        label={t('name')}
        required
        maxLength={100}
        autoComplete="off"
        data-autofocus
        value={draft.name}
        error={faults['name']}
        onChange={({ currentTarget: { value } }) => onChange({ name: value })}
      />
      <Textarea
        label={t('description')}
        description={t('descriptionHint')}
        autosize
        minRows={2}
        maxRows={5}
        maxLength={500}
        value={draft.description}
        error={faults['description']}
        onChange={({ currentTarget: { value } }) => onChange({ description: value })}
      />
    </>
  );
}

export function SignInFields({
  draft,
  faults,
  onChange,
  isPublic,
}: FieldsProps & { readonly isPublic: boolean }) {
  const t = useTranslate('applications');
  return (
    <>
      <Checkbox.Group
        label={t('flows')}
        value={[...draft.securityFlows]}
        error={faultOfList(faults, 'securityFlows')}
        onChange={(securityFlows) => onChange({ securityFlows })}
      >
        <div className="sy-app-flows">
          {flows
            .filter((flow) => !(isPublic && flow === 'ClientCredentials'))
            .map((flow) => (
              <Checkbox
                key={flow}
                value={flow}
                label={t(`flowNames.${flow}`)}
                description={t(`flowHints.${flow}`)}
              />
            ))}
        </div>
      </Checkbox.Group>
      {draft.securityFlows.includes('AuthorizationCode') && (
        <>
          <AddressList
            member="redirectUris"
            placeholder="https://shop.example/callback"
            draft={draft}
            faults={faults}
            onChange={onChange}
          />
          <AddressList
            member="webOrigins"
            placeholder="https://shop.example"
            draft={draft}
            faults={faults}
            onChange={onChange}
          />
        </>
      )}
    </>
  );
}

function AddressList({
  member,
  placeholder,
  draft,
  faults,
  onChange,
}: FieldsProps & {
  readonly member: 'redirectUris' | 'webOrigins';
  readonly placeholder: string;
}) {
  const t = useTranslate('applications');
  return (
    <Textarea
      label={t(member)}
      description={t(`${member}Hint`)}
      placeholder={placeholder}
      autosize
      minRows={2}
      maxRows={8}
      spellCheck={false}
      value={draft[member]}
      error={faultOfList(faults, member)}
      onChange={({ currentTarget: { value } }) => onChange({ [member]: value })}
    />
  );
}

/** Roles with what they bring, so that nobody has to know their names. */
export function RoleField({ draft, faults, onChange }: FieldsProps) {
  const t = useTranslate('applications');
  const { data, error } = useRoles();
  if (error !== null) return <Problem fault={error} />;
  const roles = (data?.roles ?? []).filter(
    ({ role }) => role !== 'PlatformOperator' || draft.roles.includes(role),
  );
  const brought = (names: readonly string[]): readonly Permission[] => [
    ...new Set(
      roles.filter(({ role }) => names.includes(role)).flatMap(({ permissions }) => permissions),
    ),
  ];
  return (
    <div>
      <MultiSelect
        label={t('roles')}
        description={t('rolesHint')}
        searchable
        data={roles.map(({ role, title }) => ({ value: role, label: title }))}
        value={[...draft.roles]}
        error={faultOfList(faults, 'roles')}
        onChange={(next) => onChange({ roles: next })}
      />
      {draft.roles.length > 0 && <Permissions names={brought(draft.roles)} />}
    </div>
  );
}

export function Permissions({ names }: { readonly names: readonly string[] }) {
  const t = useTranslate('applications');
  return (
    <ul className="sy-permissions" aria-label={t('permissions')}>
      {names.map((name) => (
        <li key={name}>
          <code>{name}</code>
        </li>
      ))}
    </ul>
  );
}

export function FinerFields({ draft, faults, onChange }: FieldsProps) {
  const t = useTranslate('applications');
  return (
    <>
      <TagsInput
        label={t('services')}
        description={t('servicesHint')}
        maxTags={50}
        value={[...draft.services]}
        error={faultOfList(faults, 'services')}
        onChange={(services) => onChange({ services })}
      />
      <TextInput
        label={t('tokenSeconds')}
        description={t('tokenSecondsHint')}
        inputMode="numeric"
        maxLength={6}
        value={draft.accessTokenSeconds}
        error={faults['accessTokenSeconds']}
        onChange={({ currentTarget: { value } }) => onChange({ accessTokenSeconds: value })}
      />
      <Select
        label={t('tokenAlgorithm')}
        description={t('tokenAlgorithmHint')}
        clearable
        data={['ES256', 'RS256']}
        value={draft.accessTokenAlgorithm === '' ? null : draft.accessTokenAlgorithm}
        error={faults['accessTokenAlgorithm']}
        onChange={(value) => onChange({ accessTokenAlgorithm: value ?? '' })}
      />
      <Select
        label={t('tokenType')}
        description={t('tokenTypeHint')}
        allowDeselect={false}
        data={['JWT', 'at+jwt']}
        value={draft.accessTokenType}
        error={faults['accessTokenType']}
        onChange={(value) => onChange({ accessTokenType: value ?? 'JWT' })}
      />
      {draft.securityFlows.includes('AuthorizationCode') && (
        <Select
          label={t('callbackError')}
          description={t('callbackErrorHint')}
          allowDeselect={false}
          data={['Rfc6749', 'HttpCode'].map((value) => ({
            value,
            label: t(`callbackErrors.${value}`),
          }))}
          value={draft.callbackError}
          error={faults['callbackError']}
          onChange={(value) => onChange({ callbackError: value ?? 'Rfc6749' })}
        />
      )}
    </>
  );
}
