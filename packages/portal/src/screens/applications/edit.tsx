/** Changes an application, unless somebody else did meanwhile. */
import { Anchor } from '@mantine/core';
import type { Application } from '@switchyard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { faultsByField, isProblem } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { useParam } from '../../app/url-params.ts';
import { PageForm } from '../../components/forms/page-form.tsx';
import { Problem } from '../../components/layout/error-message.tsx';
import { Loading, Page, Panel } from '../../components/layout/page.tsx';
import { notify } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { forgetLists } from '../../table/row-store-cache.ts';
import { changesOf, type Draft, draftOf } from './application-draft.ts';
import {
  FinerFields,
  NameFields,
  RoleField,
  SignInFields,
  inlineErrorFields,
} from './application-fields.tsx';
import { type FoundApplication, useApplication } from './use-application.ts';
import '../../components/forms/fields.css';
import './applications.css';

export default function EditApplication() {
  const t = useTranslate('applications');
  const clientId = useParam('clientId');
  const { data, error, refetch } = useApplication(clientId);
  // What is read again by itself takes nothing of what is typed; only whoever asks begins anew.
  const [begun, setBegun] = useState(0);
  const back = { to: `/applications/${clientId}`, label: data?.application.name ?? t('title') };
  return (
    <Page title={t('edit.title')} backLink={back}>
      {error !== null && <Problem fault={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Loading lines={10} />}
      {data !== undefined && (
        <EditForm
          key={begun}
          loaded={data}
          onReload={() => void refetch().then(() => setBegun(begun + 1))}
        />
      )}
    </Page>
  );
}

function EditForm({
  loaded,
  onReload,
}: {
  readonly loaded: FoundApplication;
  readonly onReload: () => void;
}) {
  const [{ application, etag, address }] = useState(loaded);
  const t = useTranslate('applications');
  const client = useQueryClient();
  const navigate = useNavigate();
  const { clientId, clientType, type, status } = application;
  const [draft, setDraft] = useState(() => draftOf(application));
  const [fault, setFault] = useState<unknown>(undefined);
  const change = (next: Partial<Draft>) => setDraft((was) => ({ ...was, ...next }));
  const fields = { draft, faults: faultsByField(fault), onChange: change };
  const leave = () => void navigate({ to: `/applications/${clientId}` });
  return (
    <PageForm
      confirm={t('edit.do')}
      isDisabled={draft.name.trim() === ''}
      inlineErrorFields={inlineErrorFields}
      onFault={setFault}
      onClose={leave}
      run={() =>
        api.put<Application>(address, {
          body: { ...changesOf(draft), type, status },
          headers: { 'if-match': etag },
        })
      }
      onDone={() => {
        forgetLists('["applications"');
        void client.invalidateQueries({ queryKey: ['application', clientId] });
        notify(t('edit.done'));
        leave();
      }}
    >
      <div className="sy-app-form">
        <Panel title={t('panels.name')}>
          <div className="sy-fields">
            <NameFields {...fields} />
          </div>
        </Panel>
        <div className="sy-app-stack">
          <Panel title={t('panels.rights')}>
            <div className="sy-fields">
              <SignInFields {...fields} isPublic={clientType === 'Public'} />
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
      {isProblem(fault, 'precondition_failed') && (
        <p className="sy-dialogue-text">
          {t('edit.changed')}{' '}
          <Anchor component="button" type="button" onClick={onReload}>
            {t('edit.anew')}
          </Anchor>
        </p>
      )}
    </PageForm>
  );
}
