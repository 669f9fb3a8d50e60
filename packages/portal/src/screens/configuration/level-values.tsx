/** What the place sets of its own: filled in field by field, or as the JSON that it is. */
import { Anchor, Button, SegmentedControl, Textarea } from '@mantine/core';
import type { ServiceConfiguration } from '@switchyard/contract';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { faultsByField, isProblem } from '../../api/api-errors.ts';
import { api } from '../../api/client.ts';
import { ConfirmAction } from '../../components/forms/confirm-dialog.tsx';
import { PageForm } from '../../components/forms/page-form.tsx';
import type { FormValues, SchemaPart } from '../../components/forms/schema-fields.ts';
import { SchemaForm } from '../../components/forms/schema-form.tsx';
import { EmptyState, Panel } from '../../components/layout/page.tsx';
import { notify } from '../../components/toasts/toast-store.ts';
import { CodeBlock } from '../../components/values/code-block.tsx';
import { useTranslate } from '../../locales/index.ts';
import { inheriting } from './json-pointers.ts';
import type { FoundConfiguration } from './use-configuration.ts';

type Props = {
  readonly loaded: FoundConfiguration;
  readonly schema: SchemaPart | undefined;
  readonly isEditable: boolean;
  readonly onReload: () => void;
};

export function OwnValues({ loaded, schema, isEditable, onReload }: Props) {
  const t = useTranslate('configuration');
  const { values } = loaded.configuration;
  // What is read again by itself takes nothing of what is typed; what was asked for does.
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
    <OwnForm
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

function parsed(text: string): FormValues | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as FormValues) : undefined;
  } catch {
    return undefined;
  }
}

type Manner = 'form' | 'json';

/** What is typed, in the one manner or the other; undefined where the text is no object. */
function useDraft(storedValues: FormValues, hasSchema: boolean) {
  const written = JSON.stringify(storedValues, undefined, 2);
  const [chosen, setManner] = useState<Manner | undefined>(undefined);
  // The schema may come behind the values.
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
    sent: isForm ? values : parsed(text),
    changeManner(next: Manner): void {
      // What was typed in one manner goes on in the other.
      if (next === 'json') setText(JSON.stringify(values, undefined, 2));
      else setValues(parsed(text) ?? values);
      setManner(next);
    },
    reset(): void {
      setValues(storedValues);
      setText(written);
    },
  };
}

type Draft = ReturnType<typeof useDraft>;

function OwnForm({
  loaded: { configuration, etag, address },
  schema,
  isStale,
  onReload,
}: Omit<Props, 'isEditable'> & { readonly isStale: boolean }) {
  const t = useTranslate('configuration');
  const client = useQueryClient();
  const draft = useDraft(configuration.values, schema !== undefined);
  const [fault, setFault] = useState<unknown>(undefined);
  const faults = faultsByField(fault);
  const reloadAll = () => {
    onReload();
    void client.invalidateQueries({ queryKey: ['configuration'] });
    void client.invalidateQueries({ queryKey: ['configurable'] });
    void client.invalidateQueries({ queryKey: ['configuration-versions'] });
  };
  const actions = (
    <>
      {schema !== undefined && <MannerChoice draft={draft} />}
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
          notify(t('own.saved'));
          // The same values again make no version.
          if (version !== configuration.version) reloadAll();
        }}
      >
        <OwnFields
          draft={draft}
          schema={
            schema &&
            inheriting(schema, configuration.effective.values, (value) =>
              t('own.inherits', { value }),
            )
          }
          faults={faults}
          storedSecrets={configuration.secrets}
        />
        {(isStale || isProblem(fault, 'precondition_failed')) && <Changed onReload={onReload} />}
      </PageForm>
    </Panel>
  );
}

function MannerChoice({ draft: { manner, changeManner } }: { readonly draft: Draft }) {
  const t = useTranslate('configuration');
  return (
    <SegmentedControl
      size="xs"
      aria-label={t('own.manner')}
      data={['form', 'json'].map((value) => ({ value, label: t(`own.${value}`) }))}
      value={manner}
      onChange={(next) => changeManner(next as Manner)}
    />
  );
}

function OwnFields({
  draft: { isForm, values, setValues, text, setText, sent },
  schema,
  faults,
  storedSecrets,
}: {
  readonly draft: Draft;
  readonly schema: SchemaPart | undefined;
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

function Changed({ onReload }: { readonly onReload: () => void }) {
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
      <ConfirmAction
        isOpen={isAsking}
        isDangerous
        onClose={() => setAsking(false)}
        title={t('remove.title')}
        confirm={t('remove.do')}
        run={() => api.delete(address, { headers: { 'if-match': etag } })}
        onDone={() => {
          setAsking(false);
          notify(t('remove.done'));
          onDone();
        }}
      >
        <p className="sy-dialogue-text">{t('remove.text')}</p>
      </ConfirmAction>
    </>
  );
}
