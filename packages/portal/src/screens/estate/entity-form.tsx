/** The form page for creating or editing an entity; concurrent changes are not overwritten. */
import { Button } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { errorsByField } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { PageForm } from '../../components/forms/page-form.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Loading, Page, Panel } from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { useTranslate } from '../../locales/index.ts';
import type { EstateKind } from './entity-kinds.ts';
import { FieldInput } from './field-input.tsx';
import {
  type Body,
  type Draft,
  fieldError,
  formDraft,
  hasRequiredFields,
  inlineErrors,
  requestBody,
  type Section,
  sectionFields,
} from './form-fields.ts';
import {
  isVersionConflict,
  replaceEntity,
  useReloadEstate,
  useVersionedEntity,
} from './versioned-entities.ts';
import './estate.css';

/** The sections may depend on entered values, such as the adapter of a link. */
export type Sections = readonly Section[] | ((draft: Draft) => readonly Section[]);

const sectionsFor = (sections: Sections, draft: Draft): readonly Section[] =>
  typeof sections === 'function' ? sections(draft) : sections;

type FormProps<Result> = {
  readonly sections: Sections;
  /** The entity to edit; undefined for a new entity. */
  readonly before?: Body | undefined;
  /** Initial values of a new entity, from the page that opened the form. */
  readonly preset?: Draft | undefined;
  readonly confirm: string;
  readonly run: (body: Body, idempotencyKey: string) => Promise<Result>;
  readonly onDone: (result: Result) => void;
  readonly onCancel: () => void;
  /** Reloads the version of the other user. */
  readonly onReload?: (() => void) | undefined;
};

function EntityForm<Result>(props: FormProps<Result>) {
  const { sections, before, preset, confirm, run, onDone, onCancel, onReload } = props;
  const t = useTranslate('estate');
  const isEdit = before !== undefined;
  const [typed, setTyped] = useState<Draft>(preset ?? {});
  const [fault, setFault] = useState<unknown>(undefined);
  const first = formDraft(sectionFields(sectionsFor(sections, typed)), before);
  // Fields of another adapter start with their initial values.
  const draft = { ...first, ...typed };
  const visibleSections = sectionsFor(sections, draft);
  const fields = sectionFields(visibleSections);
  const faults = errorsByField(fault);
  return (
    <PageForm
      onClose={onCancel}
      confirm={confirm}
      isDisabled={!hasRequiredFields(fields, draft)}
      inlineErrorFields={inlineErrors(faults, fields)}
      onFault={setFault}
      run={(key) => run(requestBody(fields, draft, before), key)}
      onDone={onDone}
    >
      {visibleSections.map(({ labelKey, fields: sectionFields }, section) => (
        <Panel key={labelKey} title={t(`sections.${labelKey}`)}>
          <div
            className={
              sectionFields.some(({ kind }) => kind === 'labels') ? undefined : 'sy-form-grid'
            }
          >
            {sectionFields.map((field, at) => (
              <FieldInput
                key={field.name}
                field={field}
                value={draft[field.name] ?? ''}
                error={fieldError(faults, field.name)}
                isEdit={isEdit}
                isFirst={section === 0 && at === 0}
                onChange={(value) => setTyped((now) => ({ ...now, [field.name]: value }))}
              />
            ))}
          </div>
        </Panel>
      ))}
      {isVersionConflict(fault) && onReload !== undefined && (
        <div className="sy-outdated">
          <p>{t('outdated')}</p>
          <Button variant="default" size="xs" onClick={onReload}>
            {t('reload')}
          </Button>
        </div>
      )}
    </PageForm>
  );
}

type BackLink = { readonly to: string; readonly label: string };

export function NewEntity<Result>({
  kind,
  address,
  sections,
  preset,
  backLink,
  onMade,
}: {
  readonly kind: EstateKind;
  readonly address: string;
  readonly sections: Sections;
  readonly preset?: Draft | undefined;
  readonly backLink: BackLink;
  readonly onMade: (made: Result) => void;
}) {
  const t = useTranslate('estate');
  const navigate = useNavigate();
  const changed = useReloadEstate();
  return (
    <Page title={t(`kinds.${kind}.new`)} lead={t(`kinds.${kind}.lead`)} backLink={backLink}>
      <EntityForm<Result>
        sections={sections}
        preset={preset}
        confirm={t('create')}
        run={(body, idempotencyKey) => api.post<Result>(address, { body, idempotencyKey })}
        onDone={(made) => {
          changed();
          showToast(t(`kinds.${kind}.made`));
          onMade(made);
        }}
        onCancel={() => void navigate({ to: backLink.to })}
      />
    </Page>
  );
}

export function EditEntity({
  kind,
  address,
  sections,
  backPath,
}: {
  readonly kind: EstateKind;
  readonly address: string;
  readonly sections: Sections;
  /** The page of the entity, to which the form returns. */
  readonly backPath: string;
}) {
  const t = useTranslate('estate');
  const navigate = useNavigate();
  const changed = useReloadEstate();
  const { data, error, refetch } = useVersionedEntity<Body>(address);
  const leave = () => void navigate({ to: backPath });
  const name = String(data?.body['name'] ?? '');
  return (
    <Page
      title={t(`kinds.${kind}.edit`)}
      backLink={{ to: backPath, label: name === '' ? t(`kinds.${kind}.one`) : name }}
    >
      {data === undefined &&
        (error === null ? (
          <Loading lines={8} />
        ) : (
          <ErrorMessage fault={error} onRetry={() => void refetch()} />
        ))}
      {data !== undefined && (
        <Edited
          key={address}
          first={data}
          sections={sections}
          confirm={t('save')}
          run={(body, etag) => replaceEntity(address, etag, body)}
          reload={async () => (await refetch()).data}
          onDone={() => {
            changed();
            showToast(t(`kinds.${kind}.changed`));
            leave();
          }}
          onCancel={leave}
        />
      )}
    </Page>
  );
}

type Read = { readonly body: Body; readonly etag: string };

/** Keeps the version that the form was opened with; background reloads do not change it. */
function Edited({
  first,
  sections,
  confirm,
  run,
  reload,
  onDone,
  onCancel,
}: {
  readonly first: Read;
  readonly sections: Sections;
  readonly confirm: string;
  readonly run: (body: Body, etag: string) => Promise<unknown>;
  readonly reload: () => Promise<Read | undefined>;
  readonly onDone: () => void;
  readonly onCancel: () => void;
}) {
  const [{ body: before, etag }, setRead] = useState(first);
  return (
    <EntityForm
      key={etag}
      sections={sections}
      before={before}
      confirm={confirm}
      run={(body) => run(body, etag)}
      onDone={onDone}
      onCancel={onCancel}
      onReload={() => void reload().then((read) => read !== undefined && setRead(read))}
    />
  );
}
