/** The dialog that invites a user; the user gets a link to set a password. */
import { Select, TextInput } from '@mantine/core';
import type { UserView } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { errorsByField } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useEntityNames } from '../../components/values/entity-name.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import { discardLists } from '../../table/row-store-cache.ts';
import { GroupChoice } from './group-choice.tsx';
import { useUsersUrl } from './users-url.ts';

const texts = ['username', 'email', 'givenName', 'familyName'] as const;
type Draft = Readonly<Record<(typeof texts)[number], string>>;
const nothing: Draft = { username: '', email: '', givenName: '', familyName: '' };
const inlineErrorFields = [...texts, 'entityId', 'scope', 'groups'];

export function InviteDialog({ onClose }: { readonly onClose: () => void }) {
  const t = useTranslate('users');
  const address = useUsersUrl();
  const navigate = useNavigate();
  const { organizationId, organizationName, merchantId } = useSession();
  const merchants = useEntityNames('merchants', merchantId === undefined).data;
  const [draft, setDraft] = useState(nothing);
  const [entityId, setEntityId] = useState(merchantId ?? organizationId);
  const [groups, setGroups] = useState<readonly string[]>([]);
  const [fault, setFault] = useState<unknown>(undefined);
  const faults = errorsByField(fault);
  const filledTexts = Object.fromEntries(
    Object.entries(draft).flatMap(([name, value]) =>
      value.trim() === '' ? [] : [[name, value.trim()]],
    ),
  );
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={t('invite.title')}
      confirm={t('invite.do')}
      isDisabled={draft.username.trim() === '' || draft.email.trim() === ''}
      inlineErrorFields={inlineErrorFields}
      onFault={setFault}
      run={(idempotencyKey) =>
        api.post<UserView>(address, {
          body: { ...filledTexts, entityId, scope: entityId, groups },
          idempotencyKey,
        })
      }
      onDone={({ userId }) => {
        discardLists('["users"');
        showToast(t('invite.done'));
        onClose();
        void navigate({ to: `/users/${userId}` });
      }}
    >
      <p className="sy-dialogue-text">{t('invite.text')}</p>
      <Person draft={draft} faults={faults} onChange={setDraft} />
      {merchantId === undefined && (
        <Select
          label={t('entity')}
          searchable
          allowDeselect={false}
          data={[
            { value: organizationId, label: organizationName ?? t('organization') },
            ...[...(merchants ?? [])].map(([value, label]) => ({ value, label })),
          ]}
          value={entityId}
          error={faults['entityId'] ?? faults['scope']}
          onChange={(value) => {
            setEntityId(value ?? organizationId);
            setGroups([]);
          }}
        />
      )}
      <GroupChoice
        entityId={entityId}
        value={groups}
        error={faults['groups']}
        onChange={setGroups}
      />
    </ConfirmDialog>
  );
}

function Person({
  draft,
  faults,
  onChange,
}: {
  readonly draft: Draft;
  readonly faults: Readonly<Record<string, string>>;
  readonly onChange: (draft: Draft) => void;
}) {
  const t = useTranslate('users');
  return texts.map((name, index) => (
    <TextInput
      key={name}
      label={t(name)}
      required={name === 'username' || name === 'email'}
      type={name === 'email' ? 'email' : 'text'}
      autoComplete="off"
      maxLength={254}
      data-autofocus={index === 0}
      value={draft[name]}
      error={faults[name]}
      onChange={({ currentTarget: { value } }) => onChange({ ...draft, [name]: value })}
    />
  ));
}
