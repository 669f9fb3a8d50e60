/** The list of users, with an invitation. */
import './users.css';
import { Button, Checkbox, Select } from '@mantine/core';
import type { Group, UserView } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { draftList, draftText, type Field } from '../../components/forms/form-fields.ts';
import { type CustomInputProps, FormInputs, useForm } from '../../components/forms/use-form.tsx';
import { Icon } from '../../components/icon.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Loading, Page } from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useEntityNames } from '../../components/values/entity-name.tsx';
import { nameOptions } from '../../filters/filter-options.ts';
import { useTranslate } from '../../locales/index.ts';
import { useHasPermission, useSession } from '../../session/use-session.ts';
import { useGroupsUrl, useUsersUrl } from './user-management-api-urls.ts';
import { UsersTable } from './users-table.tsx';

export default function Users() {
  const t = useTranslate('users');
  const mayInvite = useHasPermission('um.write');
  const [isInviting, setInviting] = useState(false);
  const invite = (
    <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setInviting(true)}>
      {t('invite.title')}
    </Button>
  );
  return (
    <Page title={t('title')} actions={mayInvite && invite} fill>
      <UsersTable />
      {isInviting && <InviteDialog onClose={() => setInviting(false)} />}
    </Page>
  );
}

const fields: readonly Field[] = [
  { name: 'username', kind: 'text', max: 254, isRequired: true },
  { name: 'email', kind: 'email', max: 254, isRequired: true },
  { name: 'givenName', kind: 'text', max: 254 },
  { name: 'familyName', kind: 'text', max: 254 },
  { name: 'entityId', kind: 'text' },
  // An error of the scope belongs to the same input.
  { name: 'scope', kind: 'text', isHidden: true },
  { name: 'groups', kind: 'choices' },
];

function InviteDialog({ onClose }: { readonly onClose: () => void }) {
  const t = useTranslate('users');
  const path = useUsersUrl();
  const navigate = useNavigate();
  const { organizationId, merchantId } = useSession();
  const scope = merchantId ?? organizationId;
  const form = useForm(() => fields, { preset: { entityId: scope, scope } });
  return (
    <ConfirmDialog
      {...form.confirmProps}
      isOpen
      onClose={onClose}
      title={t('invite.title')}
      confirm={t('invite.do')}
      run={(idempotencyKey) => api.post<UserView>(path, { body: form.body, idempotencyKey })}
      onDone={({ userId }) => {
        reloadData('users');
        showToast(t('invite.done'));
        onClose();
        void navigate({ to: `/users/${userId}` });
      }}
    >
      <p className="sy-dialogue-text">{t('invite.text')}</p>
      <FormInputs form={form} t={t} customInputs={{ entityId: EntityField, groups: GroupField }} />
    </ConfirmDialog>
  );
}

function EntityField({ form }: CustomInputProps) {
  const t = useTranslate('users');
  const { organizationId, organizationName, merchantId } = useSession();
  const merchants = useEntityNames('merchants', merchantId === undefined).data;
  if (merchantId !== undefined) return null;
  const organization = { value: organizationId, label: organizationName ?? t('organization') };
  return (
    <Select
      label={t('entity')}
      searchable
      allowDeselect={false}
      data={[organization, ...nameOptions(merchants)]}
      value={draftText(form.draft['entityId'])}
      error={form.errorOf('entityId') ?? form.errorOf('scope')}
      onChange={(value) => {
        const entityId = value ?? organizationId;
        form.change({ entityId, scope: entityId, groups: [] });
      }}
    />
  );
}

function GroupField({ form }: CustomInputProps) {
  return (
    <GroupChoice
      entityId={draftText(form.draft['entityId'])}
      value={draftList(form.draft['groups'])}
      error={form.errorOf('groups')}
      onChange={(groups) => form.change({ groups })}
    />
  );
}

function GroupChoice({
  entityId,
  value,
  error,
  onChange,
}: {
  readonly entityId: string;
  readonly value: readonly string[];
  readonly error: string | undefined;
  readonly onChange: (groups: readonly string[]) => void;
}) {
  const t = useTranslate('users');
  const address = useGroupsUrl();
  const groups = useQuery({
    queryKey: ['groups', entityId],
    queryFn: ({ signal }) => api.get<{ items: Group[] }>(address, { query: { entityId }, signal }),
  });
  if (groups.error !== null) return <ErrorMessage fault={groups.error} />;
  if (groups.data === undefined) return <Loading lines={4} />;
  return (
    <Checkbox.Group
      label={t('fields.groups')}
      value={[...value]}
      error={error}
      onChange={(next) => onChange(next)}
    >
      <div className="sy-field-options">
        {groups.data.items.map(({ name, group }) => (
          <Checkbox
            key={name}
            value={name}
            label={t(`groupNames.${group}`)}
            description={t(`groupRights.${group}`)}
          />
        ))}
      </div>
    </Checkbox.Group>
  );
}
