/** Edits the values of this level, as a form or as JSON. */
import { Anchor, Button, SegmentedControl, Textarea } from '@mantine/core';
import { parseJsonObject, type ServiceConfiguration } from '@switchyard/contract';
import { useState } from 'react';
import { errorsByField, isProblem } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { reloadData } from '../../app/reload-data.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { PageForm } from '../../components/forms/page-form.tsx';
import type { FormValues, JsonSchema } from '../../components/forms/schema-fields.ts';
import { SchemaForm } from '../../components/forms/schema-form.tsx';
import { EmptyState, Panel } from '../../components/layout/page.tsx';
import { showToast } from '../../components/toasts/toast-store.ts';
import { CodeBlock } from '../../components/values/code-block.tsx';
import { useTranslate } from '../../locales/index.ts';
import { withInheritedValues } from './json-pointers.ts';
import type { LoadedConfiguration } from './use-configuration.ts';

type Props = {
  readonly loaded: LoadedConfiguration;
  readonly schema: JsonSchema | undefined;
  readonly isEditable: boolean;
  readonly onReload: () => void;
};

export function LevelValuesEditor({ loaded, schema, isEditable, onReload }: Props) {
  const t = useTranslate('configuration');
  const { values } = loaded.configuration;
  // A background reload keeps the typed values; the user's own reload replaces them.
  const [begun, setBegun] = useState(loaded);
  const [isAwaited, setAwaited] = useState(false);
  const isNewer = loaded.configuration.version !== begun.configuration.version;
  if (isAwaited && isNewer) {
    setBegun(loaded);
    setAwaited(false);
  }
  if (!isEditable) {
    return Object.keys(values).length === 0 ? (
      <EmptyState icon="configuration" title={t('own.none')} />
    ) : (
      <Panel title={t('tabs.own')}>
        <CodeBlock text={JSON.stringify(values, undefined, 2)} label={t('tabs.own')} isTall />
      </Panel>
    );
  }
  return (
    <LevelValuesForm
      key={begun.configuration.version}
      loaded={begun}
      schema={schema}
      isStale={isNewer && !isAwaited}
      onReload={() => {
        setAwaited(true);
        onReload();
      }}
    />
  );
}

type EditMode = 'form' | 'json';

/** The edited values in form or JSON mode; `sent` is undefined if the text is not a JSON object. */
function useDraft(storedValues: FormValues, hasSchema: boolean) {
  const written = JSON.stringify(storedValues, undefined, 2);
  const [chosen, setManner] = useState<EditMode | undefined>(undefined);
  // The schema may be loaded after the values.
  const manner = chosen ?? (hasSchema ? 'form' : 'json');
  const [values, setValues] = useState(storedValues);
  const [text, setText] = useState(written);
  const isForm = manner === 'form' && hasSchema;
  return {
    isForm,
    manner,
    values,
    setValues,
    text,
    setText(typed: string): void {
      setText(typed);
      setManner('json');
    },
    sent: isForm ? values : parseJsonObject(text),
    changeManner(next: EditMode): void {
      // The other mode continues with the edited values.
      if (next === 'json') setText(JSON.stringify(values, undefined, 2));
      else setValues(parseJsonObject(text) ?? values);
      setManner(next);
    },
    reset(): void {
      setValues(storedValues);
      setText(written);
    },
  };
}

type Draft = ReturnType<typeof useDraft>;

function LevelValuesForm({
  loaded: { configuration, etag, address },
  schema,
  isStale,
  onReload,
}: Omit<Props, 'isEditable'> & { readonly isStale: boolean }) {
  const t = useTranslate('configuration');
  const draft = useDraft(configuration.values, schema !== undefined);
  const [fault, setFault] = useState<unknown>(undefined);
  const faults = errorsByField(fault);
  const reloadAll = () => {
    onReload();
    reloadData('configuration', 'configurable', 'configuration-versions');
  };
  const actions = (
    <>
      {schema !== undefined && <EditModeChoice draft={draft} />}
      {configuration.isSet && <RemoveAll address={address} etag={etag} onDone={reloadAll} />}
    </>
  );
  return (
    <Panel title={t('tabs.own')} actions={actions}>
      <p className="sy-conf-hint">{t('own.hint')}</p>
      <PageForm
        confirm={t('own.save')}
        isDisabled={draft.sent === undefined}
        inlineErrorFields={draft.isForm ? Object.keys(faults) : []}
        onFault={setFault}
        onClose={() => {
          draft.reset();
          setFault(undefined);
        }}
        run={() =>
          api.post<ServiceConfiguration>(address, {
            body: { values: draft.sent },
            headers: { 'if-match': etag },
          })
        }
        onDone={({ version }) => {
          setFault(undefined);
          showToast(t('own.saved'));
          // Saving the same values creates no new version.
          if (version !== configuration.version) reloadAll();
        }}
      >
        <LevelValueFields
          draft={draft}
          schema={
            schema &&
            withInheritedValues(schema, configuration.effective.values, (value) =>
              t('own.inherits', { value }),
            )
          }
          faults={faults}
          storedSecrets={configuration.secrets}
        />
        {(isStale || isProblem(fault, 'precondition_failed')) && (
          <ChangedNote onReload={onReload} />
        )}
      </PageForm>
    </Panel>
  );
}

function EditModeChoice({ draft: { manner, changeManner } }: { readonly draft: Draft }) {
  const t = useTranslate('configuration');
  return (
    <SegmentedControl
      size="xs"
      aria-label={t('own.manner')}
      data={['form', 'json'].map((value) => ({ value, label: t(`own.${value}`) }))}
      value={manner}
      onChange={(next) => changeManner(next as EditMode)}
    />
  );
}

function LevelValueFields({
  draft: { isForm, values, setValues, text, setText, sent },
  schema,
  faults,
  storedSecrets,
}: {
  readonly draft: Draft;
  readonly schema: JsonSchema | undefined;
  readonly faults: Readonly<Record<string, string>>;
  readonly storedSecrets: readonly string[];
}) {
  const t = useTranslate('configuration');
  if (isForm) {
    return (
      <SchemaForm
        schema={schema}
        values={values}
        faults={faults}
        path="values"
        isInheriting
        storedSecrets={storedSecrets}
        onChange={setValues}
      />
    );
  }
  return (
    <Textarea
      className="sy-conf-json"
      label="JSON"
      autosize
      minRows={8}
      maxRows={32}
      spellCheck={false}
      value={text}
      error={sent === undefined ? t('own.notJson') : undefined}
      onChange={({ currentTarget: { value } }) => setText(value)}
    />
  );
}

function ChangedNote({ onReload }: { readonly onReload: () => void }) {
  const t = useTranslate('configuration');
  return (
    <p className="sy-dialogue-text">
      {t('own.changed')}{' '}
      <Anchor component="button" type="button" onClick={onReload}>
        {t('own.anew')}
      </Anchor>
    </p>
  );
}

function RemoveAll({
  address,
  etag,
  onDone,
}: {
  readonly address: string;
  readonly etag: string;
  readonly onDone: () => void;
}) {
  const t = useTranslate('configuration');
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <Button variant="default" size="compact-sm" onClick={() => setAsking(true)}>
        {t('remove.do')}
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        isDangerous
        onClose={() => setAsking(false)}
        title={t('remove.title')}
        confirm={t('remove.do')}
        run={() => api.delete(address, { headers: { 'if-match': etag } })}
        onDone={() => {
          setAsking(false);
          showToast(t('remove.done'));
          onDone();
        }}
      >
        <p className="sy-dialogue-text">{t('remove.text')}</p>
      </ConfirmDialog>
    </>
  );
}
