/** Selects roles, and lists their permissions. */
import { MultiSelect } from '@mantine/core';
import { draftList } from '../../components/forms/form-fields.ts';
import type { Form } from '../../components/forms/use-form.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useRoles } from './application-queries.ts';

export function RoleField({ form }: { readonly form: Form }) {
  const t = useTranslate('applications');
  const { data, error } = useRoles();
  if (error !== null) return <ErrorMessage fault={error} />;
  const chosen = draftList(form.draft['roles']);
  const roles = (data?.roles ?? []).filter(
    ({ role }) => role !== 'PlatformOperator' || chosen.includes(role),
  );
  const permissions = roles
    .filter(({ role }) => chosen.includes(role))
    .flatMap((role) => role.permissions);
  return (
    <div>
      <MultiSelect
        label={t('fields.roles')}
        description={t('hints.roles')}
        searchable
        data={roles.map(({ role, title }) => ({ value: role, label: title }))}
        value={chosen}
        error={form.errorOf('roles')}
        onChange={(next) => form.change({ roles: next })}
      />
      {chosen.length > 0 && <PermissionList names={[...new Set(permissions)]} />}
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
