/** Edits an application; a concurrent change by another user is not overwritten. */
import { Anchor } from '@mantine/core';
import type { Application } from '@switchyard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { errorsByField, isProblem } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { usePathParam } from '../../app/url-params.ts';
import { PageForm } from '../../components/forms/page-form.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Loading, Page, Panel } from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { discardLists } from '../../table/row-store-cache.ts';
import { type ApplicationDraft, applicationDraftOf, changedFields } from './application-draft.ts';
import {
  AdvancedFields,
  inlineErrorFields,
  NameFields,
  RoleField,
  SignInFields,
} from './application-fields.tsx';
import { type LoadedApplication, useApplication } from './use-application.ts';
import '../../components/forms/fields.css';
import './applications.css';

export default function EditApplication() {
  const t = useTranslate('applications');
  const clientId = usePathParam('clientId');
  const { data, error, refetch } = useApplication(clientId);
  // A background reload keeps the typed values; only the user's own reload replaces them.
  const [begun, setBegun] = useState(0);
  const backLink = { to: `/applications/${clientId}`, label: data?.application.name ?? t('title') };
  return (
    <Page title={t('edit.title')} backLink={backLink}>
      {error !== null && <ErrorMessage fault={error} onRetry={() => void refetch()} />}
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
  readonly loaded: LoadedApplication;
  readonly onReload: () => void;
}) {
  const [{ application, etag, address }] = useState(loaded);
  const t = useTranslate('applications');
  const client = useQueryClient();
  const navigate = useNavigate();
  const { clientId, clientType, type, status } = application;
  const [draft, setDraft] = useState(() => applicationDraftOf(application));
  const [fault, setFault] = useState<unknown>(undefined);
  const change = (next: Partial<ApplicationDraft>) => setDraft((was) => ({ ...was, ...next }));
  const fields = { draft, faults: errorsByField(fault), onChange: change };
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
          body: { ...changedFields(draft), type, status },
          headers: { 'if-match': etag },
        })
      }
      onDone={() => {
        discardLists('["applications"');
        void client.invalidateQueries({ queryKey: ['application', clientId] });
        showToast(t('edit.done'));
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
              <AdvancedFields {...fields} />
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
