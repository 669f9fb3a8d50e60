/** The form that declares a service or edits its draft. */
import '../services/services.css';
import './provider-services.css';
import { Button, FileInput } from '@mantine/core';
import {
  defined,
  parseJsonObject,
  type Service,
  type ServiceWithSecret,
} from '@switchyard/contract';
import { useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { usePathParam } from '../../app/url-params.ts';
import { replaceVersioned, type Versioned } from '../../app/versioned-resources.ts';
import { FieldInput } from '../../components/forms/field-input.tsx';
import { draftText } from '../../components/forms/form-fields.ts';
import { PageForm } from '../../components/forms/page-form.tsx';
import { SchemaForm } from '../../components/forms/schema-form.tsx';
import {
  type CustomInputProps,
  type Form,
  FormInputs,
  useForm,
} from '../../components/forms/use-form.tsx';
import { Page, Panel } from '../../components/layout/page.tsx';
import { PendingPage } from '../../components/layout/query-content.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import { ServiceLogo } from '../services/service-logo.tsx';
import { catalogUrl } from '../services/service-queries.ts';
import { NewKeysDialog, type ServiceKeys } from './new-keys-dialog.tsx';
import { serviceUrl, useOwnService } from './provider-service-queries.ts';
import { type Logo, logoTypes, readLogo } from './read-logo.ts';
import {
  catalogueFields,
  jsonExamples,
  jsonFields,
  serverFields,
  serviceFields,
} from './service-sections.ts';

export default function EditService() {
  const t = useTranslate('provider-services');
  const query = useOwnService(usePathParam('serviceId'));
  // A background reload keeps the typed values.
  const first = useRef(query.data);
  first.current ??= query.data;
  if (first.current !== undefined) return <ServiceForm versioned={first.current} />;
  const backLink = { to: '/own-services', label: t('title') };
  return <PendingPage query={query} title={t('edit')} backLink={backLink} />;
}

type Saved = { readonly serviceId: string; readonly keys?: ServiceKeys };

async function send(
  body: object,
  versioned: Versioned<Service> | undefined,
  idempotencyKey: string,
): Promise<Saved> {
  if (versioned !== undefined)
    return replaceVersioned(serviceUrl(versioned.body.serviceId), versioned.etag, body);
  const { serviceId, signingSecret, verificationKey } = await api.post<ServiceWithSecret>(
    `${catalogUrl}/services`,
    { body, idempotencyKey },
  );
  return { serviceId, keys: { signingSecret, verificationKey } };
}

export function ServiceForm({ versioned }: { readonly versioned: Versioned<Service> | undefined }) {
  const t = useTranslate('provider-services');
  const navigate = useNavigate();
  const service = versioned?.body;
  const form = useForm(() => serviceFields, { before: service, unchanged: {} });
  const [logo, setLogo] = useState(service?.logo);
  const [saved, setSaved] = useState<Saved | undefined>(undefined);
  const open = (serviceId: string) => void navigate({ to: `/own-services/${serviceId}` });
  const backLink =
    service === undefined
      ? { to: '/own-services', label: t('title') }
      : { to: `/own-services/${service.serviceId}`, label: service.name };
  return (
    <Page
      title={t(service === undefined ? 'declare' : 'edit')}
      lead={t('editLead')}
      backLink={backLink}
    >
      <div className="sy-declaration">
        <PageForm
          {...form.confirmProps}
          confirm={t('save')}
          run={(idempotencyKey) =>
            send({ ...form.body, ...defined({ logo }) }, versioned, idempotencyKey)
          }
          onDone={(done) => {
            reloadData('own-services');
            showToast(t('saved'));
            if (done.keys === undefined) open(done.serviceId);
            else setSaved(done);
          }}
          onClose={() => void navigate({ to: backLink.to })}
        >
          <Panel title={t('what')}>
            <div className="sy-declaration-fields">
              <FormInputs form={form} t={t} fields={catalogueFields} />
              <LogoField
                name={draftText(form.draft['name'])}
                logo={logo}
                error={form.errorOf('logo')}
                onChange={setLogo}
              />
              <FormInputs form={form} t={t} fields={serverFields} hasFocus={false} />
            </div>
          </Panel>
          <Panel title={t('parameters')}>
            <div className="sy-declaration-fields">
              <FormInputs form={form} t={t} fields={jsonFields} customInputs={jsonInputs} />
            </div>
          </Panel>
        </PageForm>
        <Preview form={form} logo={logo} />
      </div>
      {saved?.keys !== undefined && (
        <NewKeysDialog keys={saved.keys} onClose={() => open(saved.serviceId)} />
      )}
    </Page>
  );
}

const jsonInputs = Object.fromEntries(jsonFields.map(({ name }) => [name, JsonInput]));

/** A JSON text, with an example while it is empty. */
function JsonInput({ form, field }: CustomInputProps) {
  const t = useTranslate('provider-services');
  const text = draftText(form.draft[field.name]);
  const change = (value: string) => form.change({ [field.name]: value });
  return (
    <div>
      <FieldInput
        field={field}
        t={t}
        value={text}
        error={form.errorOf(field.name)}
        isEdit={form.isEdit}
        onChange={(value) => change(draftText(value))}
      />
      {text.trim() === '' && (
        <Button
          variant="subtle"
          size="compact-xs"
          mt={4}
          aria-label={`${t('example')}: ${t(`fields.${field.name}`)}`}
          onClick={() => change(JSON.stringify(jsonExamples[field.name], null, 2))}
        >
          {t('example')}
        </Button>
      )}
    </div>
  );
}

/** A preview of the service in the catalogue. */
function Preview({ form, logo }: { readonly form: Form; readonly logo: Logo }) {
  const t = useTranslate('provider-services');
  const { organizationName } = useSession();
  const [values, setValues] = useState<Readonly<Record<string, unknown>>>({});
  const text = (name: string) => draftText(form.draft[name]);
  const schema = parseJsonObject(text('activationParameters'));
  return (
    <div>
      <Panel title={t('preview')}>
        <div className="sy-service-card sy-declaration-preview">
          <ServiceLogo service={{ name: text('name') || '?', ...(logo && { logo }) }} />
          <div className="sy-service-what">
            <strong className="sy-broken">{text('name') || t('fields.name')}</strong>
            <span className="sy-service-from sy-cut">
              {[organizationName, text('domain')].filter(Boolean).join(' · ')}
            </span>
          </div>
          <p className="sy-service-text sy-broken">{text('description') || t('noDescription')}</p>
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

function LogoField({
  name,
  logo,
  error,
  onChange,
}: {
  readonly name: string;
  readonly logo: Logo;
  readonly error: string | undefined;
  readonly onChange: (logo: Logo) => void;
}) {
  const t = useTranslate('provider-services');
  const [isRefused, setRefused] = useState(false);
  async function readFile(file: File | null): Promise<void> {
    const next = file === null ? undefined : await readLogo(file);
    setRefused(file !== null && next === undefined);
    if (file === null || next !== undefined) onChange(next);
  }
  return (
    <div className="sy-declaration-logo">
      <ServiceLogo service={{ name: name || '?', ...(logo && { logo }) }} />
      <FileInput
        label={t('fields.logo')}
        description={t('hints.logo')}
        accept={logoTypes.join(',')}
        placeholder={t('chooseFile')}
        clearable
        clearButtonProps={{ 'aria-label': t('removeLogo') }}
        error={isRefused ? t('logoRefused') : error}
        onChange={(file) => void readFile(file)}
      />
      {logo !== undefined && (
        <Button variant="default" size="compact-sm" onClick={() => onChange(undefined)}>
          {t('removeLogo')}
        </Button>
      )}
    </div>
  );
}
