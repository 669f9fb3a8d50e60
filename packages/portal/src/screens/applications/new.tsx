/** Registers an application: what it is for comes first, the secret is shown at the end and never again. */
import { Radio, TextInput } from '@mantine/core';
import type { RegisteredApplication } from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { faultsByField } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { PageForm } from '../../components/forms/page-form.tsx';
import { Page, Panel } from '../../components/layout/page.tsx';
import { notify } from '../../components/toasts/toast-store.ts';
import { SecretOnce } from '../../components/values/one-time-secret-dialog.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import { forgetLists } from '../../table/row-store-cache.ts';
import { type Draft, emptyDraft, inputOf } from './application-draft.ts';
import {
  type FieldsProps,
  FinerFields,
  NameFields,
  RoleField,
  SignInFields,
  inlineErrorFields,
} from './application-fields.tsx';
import { type Kind, kinds, presets } from './application-kinds.ts';
import { useApplicationsAddress } from './application-queries.ts';
import { PlaceFields } from './scope-fields.tsx';
import '../../components/forms/fields.css';
import './applications.css';

export default function NewApplication() {
  const t = useTranslate('applications');
  const address = useApplicationsAddress();
  const navigate = useNavigate();
  const { organizationId, merchantId } = useSession();
  const [kind, setKind] = useState<Kind>('machine');
  const [draft, setDraft] = useState(() => emptyDraft('machine', merchantId ?? organizationId));
  const [fault, setFault] = useState<unknown>(undefined);
  const [made, setMade] = useState<RegisteredApplication | undefined>(undefined);
  const change = (next: Partial<Draft>) => setDraft((was) => ({ ...was, ...next }));
  const fields = { draft, faults: faultsByField(fault), onChange: change };
  const open = (clientId: string) => void navigate({ to: `/applications/${clientId}` });
  function registered(application: RegisteredApplication): void {
    forgetLists('["applications"');
    if (application.clientSecret !== undefined) setMade(application);
    else {
      notify(t('create.done'));
      open(application.clientId);
    }
  }
  function choose(next: Kind): void {
    setKind(next);
    change({ securityFlows: presets[next].securityFlows, roles: presets[next].roles });
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
          api.post<RegisteredApplication>(address, { body: inputOf(kind, draft), idempotencyKey })
        }
        onDone={registered}
      >
        <KindChoice value={kind} onChange={choose} />
        <Fields {...fields} kind={kind} />
      </PageForm>
      {made?.clientSecret !== undefined && (
        <SecretOnce
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

function Fields({ kind, ...fields }: FieldsProps & { readonly kind: Kind }) {
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
          <PlaceFields {...fields} />
        </div>
      </Panel>
      <div className="sy-app-stack">
        <Panel title={t('panels.rights')}>
          <div className="sy-fields">
            <SignInFields {...fields} isPublic={presets[kind].clientType === 'Public'} />
            <RoleField {...fields} />
          </div>
        </Panel>
        <Panel title={t('panels.finer')}>
          <div className="sy-fields">
            <FinerFields {...fields} />
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
  readonly value: Kind;
  readonly onChange: (kind: Kind) => void;
}) {
  const t = useTranslate('applications');
  return (
    <Radio.Group label={t('create.kind')} value={value} onChange={(next) => onChange(next as Kind)}>
      <div className="sy-app-kinds">
        {kinds.map((kind) => (
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
