/** The form that declares a service or edits its draft. */
import { Button } from '@mantine/core';
import type { Service, ServiceWithSecret } from '@switchyard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type FormEvent, useRef, useState } from 'react';
import { errorsByField } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { usePathParam } from '../../app/url-params.ts';
import { SchemaForm } from '../../components/forms/schema-form.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Loading, Page, Panel } from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { newUuid } from '../../session/random-values.ts';
import { useSession } from '../../session/use-session.ts';
import { ServiceLogo } from '../services/service-logo.tsx';
import { catalogUrl } from '../services/service-queries.ts';
import { NewKeysDialog, type ServiceKeys } from './new-keys-dialog.tsx';
import {
  ownServicesKey,
  serviceUrl,
  useOwnService,
  type VersionedService,
} from './provider-service-queries.ts';
import {
  invalidJsonFields,
  jsonFields,
  parseJsonObject,
  type ServiceDraft,
  serviceDraftOf,
  serviceInput,
} from './service-draft.ts';
import { GeneralFields, JsonFields } from './service-fields.tsx';
import '../services/services.css';
import './provider-services.css';

export default function EditService() {
  const t = useTranslate('provider-services');
  const serviceId = usePathParam('serviceId');
  const { data, error, refetch } = useOwnService(serviceId);
  // A background reload keeps the typed values.
  const first = useRef(data);
  first.current ??= data;
  if (first.current !== undefined) return <ServiceForm versioned={first.current} />;
  return (
    <Page title={t('edit')} backLink={{ to: '/own-services', label: t('title') }}>
      {error === null ? (
        <Loading lines={10} />
      ) : (
        <ErrorMessage fault={error} onRetry={() => void refetch()} />
      )}
    </Page>
  );
}

type Saved = { readonly serviceId: string; readonly keys?: ServiceKeys };

async function send(
  draft: ServiceDraft,
  versioned: VersionedService | undefined,
  key: string,
): Promise<Saved> {
  const body = serviceInput(draft);
  if (versioned !== undefined) {
    const headers = { 'if-match': versioned.etag };
    return api.put<Service>(serviceUrl(versioned.service.serviceId), { body, headers });
  }
  const made = await api.post<ServiceWithSecret>(`${catalogUrl}/services`, {
    body,
    idempotencyKey: key,
  });
  const { serviceId, signingSecret, verificationKey } = made;
  return { serviceId, keys: { signingSecret, verificationKey } };
}

/** A state update is too late to block the second of two quick clicks. */
function useSave(versioned: VersionedService | undefined, onSaved: (saved: Saved) => void) {
  const client = useQueryClient();
  const isRunning = useRef(false);
  const [key] = useState(newUuid);
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<unknown>(undefined);
  async function save(draft: ServiceDraft): Promise<void> {
    if (isRunning.current) return;
    isRunning.current = true;
    setBusy(true);
    setFault(undefined);
    try {
      const saved = await send(draft, versioned, key);
      await client.invalidateQueries({ queryKey: ownServicesKey });
      onSaved(saved);
    } catch (error) {
      setFault(error);
      isRunning.current = false;
    } finally {
      setBusy(false);
    }
  }
  return { save, isBusy, fault };
}

export function ServiceForm({ versioned }: { readonly versioned: VersionedService | undefined }) {
  const t = useTranslate('provider-services');
  const parts = useTranslate('components');
  const navigate = useNavigate();
  const [draft, setDraft] = useState(() => serviceDraftOf(versioned?.service));
  const [saved, setSaved] = useState<Saved | undefined>(undefined);
  const goOn = (serviceId: string) => void navigate({ to: `/own-services/${serviceId}` });
  const { save, isBusy, fault } = useSave(versioned, (done) => {
    showToast(t('saved'));
    if (done.keys === undefined) goOn(done.serviceId);
    else setSaved(done);
  });
  const backLink =
    versioned === undefined
      ? { to: '/own-services', label: t('title') }
      : { to: `/own-services/${versioned.service.serviceId}`, label: versioned.service.name };
  const isIncomplete = draft.name.trim() === '' || draft.domain.trim() === '';
  function submit(event: FormEvent): void {
    event.preventDefault();
    void save(draft);
  }
  const faults = errorsByField(fault);
  return (
    <Page
      title={t(versioned === undefined ? 'declare' : 'edit')}
      lead={t('editLead')}
      backLink={backLink}
    >
      <form className="sy-declaration" onSubmit={submit} noValidate>
        <div>
          <Panel title={t('what')}>
            <GeneralFields draft={draft} faults={faults} onChange={setDraft} />
          </Panel>
          <Panel title={t('parameters')}>
            <JsonFields draft={draft} faults={faults} onChange={setDraft} />
          </Panel>
          {fault !== undefined && (
            <ErrorMessage fault={fault} inlineErrorFields={inlineErrorFields} />
          )}
          <div className="sy-confirm-buttons">
            <Button component={Link} to={backLink.to} variant="default">
              {parts('cancel')}
            </Button>
            <Button
              type="submit"
              loading={isBusy}
              disabled={isIncomplete || invalidJsonFields(draft).length > 0}
            >
              {t('save')}
            </Button>
          </div>
        </div>
        <Preview draft={draft} />
      </form>
      {saved?.keys !== undefined && (
        <NewKeysDialog keys={saved.keys} onClose={() => goOn(saved.serviceId)} />
      )}
    </Page>
  );
}

const inlineErrorFields = ['name', 'description', 'domain', 'spiUrl', ...jsonFields];

/** A preview of the service in the catalogue. */
function Preview({ draft }: { readonly draft: ServiceDraft }) {
  const t = useTranslate('provider-services');
  const { organizationName } = useSession();
  const [values, setValues] = useState<Readonly<Record<string, unknown>>>({});
  const schema = parseJsonObject(draft.activationParameters);
  return (
    <div>
      <Panel title={t('preview')}>
        <div className="sy-service-card sy-declaration-preview">
          <ServiceLogo
            service={{ name: draft.name || '?', ...(draft.logo && { logo: draft.logo }) }}
          />
          <div className="sy-service-what">
            <strong className="sy-broken">{draft.name || t('fields.name')}</strong>
            <span className="sy-service-from sy-cut">
              {[organizationName, draft.domain].filter(Boolean).join(' · ')}
            </span>
          </div>
          <p className="sy-service-text sy-broken">{draft.description || t('noDescription')}</p>
        </div>
      </Panel>
      {schema !== undefined && (
        <Panel title={t('previewForm')}>
          <SchemaForm schema={schema} values={values} onChange={setValues} path="preview" />
        </Panel>
      )}
    </div>
  );
}
