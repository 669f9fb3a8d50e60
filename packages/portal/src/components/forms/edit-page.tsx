/** The page that edits a resource; it does not overwrite a concurrent change of another user. */
import { Button } from '@mantine/core';
import { useState } from 'react';
import { isVersionConflict, useVersioned, type Versioned } from '../../app/versioned-resources.ts';
import { type Translate, useTranslate } from '../../locales/index.ts';
import { Page } from '../layout/page.tsx';
import { QueryContent } from '../layout/query-content.tsx';
import { type Body, type Draft, type Section, sectionFields } from './form-fields.ts';
import { PageForm } from './page-form.tsx';
import { type CustomInputs, FormSections, useForm } from './use-form.tsx';

/** The sections may depend on entered values, such as the adapter of a link. */
export type Sections = (draft: Draft) => readonly Section[];

type FormPageProps<Result> = {
  readonly t: Translate;
  readonly sections: Sections;
  readonly customInputs?: CustomInputs;
  readonly isTwoColumns?: boolean;
  readonly confirm: string;
  readonly onDone: (result: Result) => void;
  readonly onCancel: () => void;
};

/** The form of a new resource. */
export function NewForm<Result>({
  sections,
  preset,
  run,
  confirm,
  onDone,
  onCancel,
  ...inputs
}: FormPageProps<Result> & {
  /** Initial values, from the page that opened the form. */
  readonly preset?: Draft | undefined;
  readonly run: (body: Body, idempotencyKey: string) => Promise<Result>;
}) {
  const form = useForm((draft) => sectionFields(sections(draft)), { preset });
  return (
    <PageForm
      {...form.confirmProps}
      confirm={confirm}
      run={(idempotencyKey) => run(form.body, idempotencyKey)}
      onDone={onDone}
      onClose={onCancel}
    >
      <FormSections {...inputs} form={form} sections={sections(form.draft)} />
    </PageForm>
  );
}

type EditProps<Result> = FormPageProps<Result> & {
  /** The message after a concurrent change. */
  readonly outdated: string;
  /** The members that an update sends besides the fields; default: all of the resource. */
  readonly unchanged?: (body: Body) => Body;
  readonly run: (body: Body, etag: string) => Promise<Result>;
};

export function EditPage<Result>({
  name,
  path,
  title,
  backLink,
  ...props
}: EditProps<Result> & {
  /** `reloadData` reloads the resources of this name. */
  readonly name: string;
  readonly path: string;
  readonly title: string;
  readonly backLink: { readonly to: string; readonly label: string };
}) {
  const query = useVersioned<Body>(name, path);
  return (
    <Page title={title} backLink={backLink}>
      <QueryContent query={query} lines={8}>
        {(first) => (
          <VersionForm
            {...props}
            key={path}
            first={first}
            reload={async () => (await query.refetch()).data}
          />
        )}
      </QueryContent>
    </Page>
  );
}

/** Keeps the version that the form was opened with; background reloads do not change it. */
function VersionForm<Result>({
  first,
  reload,
  ...props
}: EditProps<Result> & {
  readonly first: Versioned<Body>;
  readonly reload: () => Promise<Versioned<Body> | undefined>;
}) {
  const [version, setVersion] = useState(first);
  return (
    <EditForm
      {...props}
      key={version.etag}
      version={version}
      onReload={() => void reload().then((read) => read !== undefined && setVersion(read))}
    />
  );
}

function EditForm<Result>({
  sections,
  version: { body, etag },
  unchanged = (all) => all,
  outdated,
  run,
  confirm,
  onDone,
  onCancel,
  onReload,
  ...inputs
}: EditProps<Result> & {
  readonly version: Versioned<Body>;
  readonly onReload: () => void;
}) {
  const texts = useTranslate('components');
  const form = useForm((draft) => sectionFields(sections(draft)), {
    before: body,
    unchanged: unchanged(body),
  });
  return (
    <PageForm
      {...form.confirmProps}
      confirm={confirm}
      run={() => run(form.body, etag)}
      onDone={onDone}
      onClose={onCancel}
    >
      <FormSections {...inputs} form={form} sections={sections(form.draft)} />
      {isVersionConflict(form.fault) && (
        <div className="sy-outdated">
          <p>{outdated}</p>
          <Button variant="default" size="xs" onClick={onReload}>
            {texts('form.reload')}
          </Button>
        </div>
      )}
    </PageForm>
  );
}
