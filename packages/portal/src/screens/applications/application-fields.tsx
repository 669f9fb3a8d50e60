/** The form fields of an application, for registration and editing. */
import { Checkbox, MultiSelect, Select, TagsInput, Textarea, TextInput } from '@mantine/core';
import type { Permission } from '@switchyard/contract';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { useTranslate } from '../../locales/index.ts';
import { type ApplicationDraft, listFieldError } from './application-draft.ts';
import { securityFlows } from './application-kinds.ts';
import { useRoles } from './application-queries.ts';

export type ApplicationFieldsProps = {
  readonly draft: ApplicationDraft;
  readonly faults: Readonly<Record<string, string>>;
  readonly onChange: (change: Partial<ApplicationDraft>) => void;
};

/** The field paths in errors that a form field shows itself. */
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
  // Errors of list items contain the index.
  ...Array.from({ length: 50 }, (_, at) => [`redirectUris.${at}`, `webOrigins.${at}`]).flat(),
  ...Array.from({ length: 20 }, (_, at) => [`roles.${at}`, `services.${at}`]).flat(),
];

export function NameFields({ draft, faults, onChange }: ApplicationFieldsProps) {
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
}: ApplicationFieldsProps & { readonly isPublic: boolean }) {
  const t = useTranslate('applications');
  return (
    <>
      <Checkbox.Group
        label={t('flows')}
        value={[...draft.securityFlows]}
        error={listFieldError(faults, 'securityFlows')}
        onChange={(securityFlows) => onChange({ securityFlows })}
      >
        <div className="sy-app-flows">
          {securityFlows
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
}: ApplicationFieldsProps & {
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
      error={listFieldError(faults, member)}
      onChange={({ currentTarget: { value } }) => onChange({ [member]: value })}
    />
  );
}

/** Lists roles with their permissions. */
export function RoleField({ draft, faults, onChange }: ApplicationFieldsProps) {
  const t = useTranslate('applications');
  const { data, error } = useRoles();
  if (error !== null) return <ErrorMessage fault={error} />;
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
        error={listFieldError(faults, 'roles')}
        onChange={(next) => onChange({ roles: next })}
      />
      {draft.roles.length > 0 && <PermissionList names={brought(draft.roles)} />}
    </div>
  );
}

export function PermissionList({ names }: { readonly names: readonly string[] }) {
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

export function AdvancedFields({ draft, faults, onChange }: ApplicationFieldsProps) {
  const t = useTranslate('applications');
  return (
    <>
      <TagsInput
        label={t('services')}
        description={t('servicesHint')}
        maxTags={50}
        value={[...draft.services]}
        error={listFieldError(faults, 'services')}
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
