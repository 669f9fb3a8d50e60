/** Registers an application and shows its secret once. */
import { Radio, TextInput } from '@mantine/core';
import type { RegisteredApplication } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { errorsByField } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { PageForm } from '../../components/forms/page-form.tsx';
import { Page, Panel } from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { OneTimeSecretDialog } from '../../components/values/one-time-secret-dialog.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import { discardLists } from '../../table/row-store-cache.ts';
import {
  type ApplicationDraft,
  applicationInput,
  emptyApplicationDraft,
} from './application-draft.ts';
import {
  AdvancedFields,
  type ApplicationFieldsProps,
  inlineErrorFields,
  NameFields,
  RoleField,
  SignInFields,
} from './application-fields.tsx';
import { type ApplicationKind, applicationKinds, kindPresets } from './application-kinds.ts';
import { useApplicationsApiUrl } from './application-queries.ts';
import { ScopeFields } from './scope-fields.tsx';
import '../../components/forms/fields.css';
import './applications.css';

export default function NewApplication() {
  const t = useTranslate('applications');
  const address = useApplicationsApiUrl();
  const navigate = useNavigate();
  const { organizationId, merchantId } = useSession();
  const [kind, setKind] = useState<ApplicationKind>('machine');
  const [draft, setDraft] = useState(() =>
    emptyApplicationDraft('machine', merchantId ?? organizationId),
  );
  const [fault, setFault] = useState<unknown>(undefined);
  const [made, setMade] = useState<RegisteredApplication | undefined>(undefined);
  const change = (next: Partial<ApplicationDraft>) => setDraft((was) => ({ ...was, ...next }));
  const fields = { draft, faults: errorsByField(fault), onChange: change };
  const open = (clientId: string) => void navigate({ to: `/applications/${clientId}` });
  function registered(application: RegisteredApplication): void {
    discardLists('["applications"');
    if (application.clientSecret !== undefined) setMade(application);
    else {
      showToast(t('create.done'));
      open(application.clientId);
    }
  }
  function choose(next: ApplicationKind): void {
    setKind(next);
    change({ securityFlows: kindPresets[next].securityFlows, roles: kindPresets[next].roles });
  }
  return (
    <Page
      title={t('create.title')}
      lead={t('create.lead')}
      backLink={{ to: '/applications', label: t('title') }}
    >
      <PageForm
        confirm={t('create.do')}
        isDisabled={draft.name.trim() === '' || made !== undefined}
        inlineErrorFields={inlineErrorFields}
        onFault={setFault}
        onClose={() => void navigate({ to: '/applications' })}
        run={(idempotencyKey) =>
          api.post<RegisteredApplication>(address, {
            body: applicationInput(kind, draft),
            idempotencyKey,
          })
        }
        onDone={registered}
      >
        <KindChoice value={kind} onChange={choose} />
        <Fields {...fields} kind={kind} />
      </PageForm>
      {made?.clientSecret !== undefined && (
        <OneTimeSecretDialog
          title={t('secret.made', { name: made.name })}
          facts={[
            [t('clientId'), made.clientId],
            [t('clientSecret'), made.clientSecret],
          ]}
          onClose={() => open(made.clientId)}
        />
      )}
    </Page>
  );
}

function Fields({ kind, ...fields }: ApplicationFieldsProps & { readonly kind: ApplicationKind }) {
  const t = useTranslate('applications');
  const { draft, faults, onChange } = fields;
  return (
    <div className="sy-app-form">
      <Panel title={t('panels.name')}>
        <div className="sy-fields">
          <NameFields {...fields} />
          <TextInput
            label={t('clientId')}
            description={t('clientIdHint')}
            maxLength={128}
            autoComplete="off"
            spellCheck={false}
            value={draft.clientId}
            error={faults['clientId']}
            onChange={({ currentTarget: { value } }) => onChange({ clientId: value })}
          />
          <ScopeFields {...fields} />
        </div>
      </Panel>
      <div className="sy-app-stack">
        <Panel title={t('panels.rights')}>
          <div className="sy-fields">
            <SignInFields {...fields} isPublic={kindPresets[kind].clientType === 'Public'} />
            <RoleField {...fields} />
          </div>
        </Panel>
        <Panel title={t('panels.finer')}>
          <div className="sy-fields">
            <AdvancedFields {...fields} />
          </div>
        </Panel>
      </div>
    </div>
  );
}

function KindChoice({
  value,
  onChange,
}: {
  readonly value: ApplicationKind;
  readonly onChange: (kind: ApplicationKind) => void;
}) {
  const t = useTranslate('applications');
  return (
    <Radio.Group
      label={t('create.kind')}
      value={value}
      onChange={(next) => onChange(next as ApplicationKind)}
    >
      <div className="sy-app-kinds">
        {applicationKinds.map((kind) => (
          <Radio.Card
            key={kind}
            value={kind}
            className="sy-app-kind"
            aria-label={t(`kinds.${kind}`)}
          >
            <Radio.Indicator />
            <span>
              <strong>{t(`kinds.${kind}`)}</strong>
              <small>{t(`kindHints.${kind}`)}</small>
            </span>
          </Radio.Card>
        ))}
      </div>
    </Radio.Group>
  );
}
