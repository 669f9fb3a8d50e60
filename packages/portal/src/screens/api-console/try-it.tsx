/** Calls an operation with one's own session: filled in, sent, and the answer as it came. */
import { Button, Tabs } from '@mantine/core';
import { useState } from 'react';
import { useTexts } from '../../app/url-params.ts';
import { ConfirmAction } from '../../components/forms/confirm-dialog.tsx';
import { Problem } from '../../components/layout/error-message.tsx';
import { Note } from '../../components/layout/note.tsx';
import { Panel } from '../../components/layout/page.tsx';
import { CodeBlock } from '../../components/values/code-block.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import {
  curlOf,
  type Filled,
  firstFilled,
  headersOf,
  keyOf,
  lackingOf,
  type Request,
  requestOf,
} from './build-request.ts';
import { isCallable, isHeld, type Operation } from './parse-openapi.ts';
import { CallFields } from './request-fields.tsx';
import { AnswerView } from './response-view.tsx';
import { type Answered, send } from './send-request.ts';

/** What a session knows of itself, and need not be typed. */
function useKnown(): Readonly<Record<string, string | undefined>> {
  const { userDomainId, organizationId, merchantId } = useSession();
  return { userDomainId, realm: userDomainId, organizationId, merchantId };
}

export function TryIt({ operation }: { readonly operation: Operation }) {
  const t = useTranslate('api-console');
  const sessionValues = useKnown();
  const urlValues = useTexts();
  const [filled, setFilled] = useState(() => firstFilled(operation, sessionValues, urlValues));
  return (
    <div className="sy-ref-console">
      <Panel title={t('tryIt')}>
        <Tabs defaultValue={isCallable(operation) ? 'call' : 'curl'} keepMounted={false}>
          <Tabs.List mb="md">
            {isCallable(operation) && <Tabs.Tab value="call">{t('call')}</Tabs.Tab>}
            <Tabs.Tab value="curl">curl</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="call">
            <Call operation={operation} filled={filled} onChange={setFilled} />
          </Tabs.Panel>
          <Tabs.Panel value="curl">
            <div className="sy-ref-stack">
              <CodeBlock text={curlOf(operation, filled, location.origin)} label="curl" isTall />
              <p className="sy-ref-hint">{t(`curlHint.${operation.access}`)}</p>
            </div>
          </Tabs.Panel>
        </Tabs>
      </Panel>
    </div>
  );
}

/** Sends what is filled in; what reads is sent at once, what changes something is asked about first. */
function useCall(operation: Operation, filled: Filled) {
  const queries = operation.parameters.filter(({ location }) => location !== 'header');
  const [, remember] = useFilters(queries.map(({ name }) => name));
  const [isSending, setSending] = useState(false);
  const [answered, setAnswered] = useState<Answered | undefined>(undefined);
  const [fault, setFault] = useState<unknown>(undefined);

  async function run(): Promise<Answered> {
    // The address holds what was asked for: it can be shared. What was typed as a body cannot.
    const queryValues = queries.map((each) => [each.name, filled.parameters[keyOf(each)] ?? '']);
    remember(Object.fromEntries(queryValues));
    return send(requestOf(operation, filled));
  }

  async function read(): Promise<void> {
    if (isSending) return;
    setSending(true);
    setFault(undefined);
    try {
      setAnswered(await run());
    } catch (error) {
      setFault(error);
    } finally {
      setSending(false);
    }
  }

  function show(result: Answered): void {
    setFault(undefined);
    setAnswered(result);
  }

  return { run, read, show, isSending, answered, fault };
}

function Call({
  operation,
  filled,
  onChange,
}: {
  readonly operation: Operation;
  readonly filled: Filled;
  readonly onChange: (filled: Filled) => void;
}) {
  const t = useTranslate('api-console');
  const { permissions } = useSession();
  const [isAsking, setAsking] = useState(false);
  const { run, read, show, isSending, answered, fault } = useCall(operation, filled);
  const lacking = lackingOf(operation, filled);
  const isReady = lacking.length === 0 && headersOf(filled.headers) !== undefined;
  const reads = operation.method === 'GET';
  return (
    <>
      <form
        className="sy-ref-stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!isReady) return;
          if (reads) void read();
          else setAsking(true);
        }}
      >
        {!isHeld(operation, permissions) && (
          <Note icon="ban" tone="warn">
            {t('notYours')}
          </Note>
        )}
        <CallFields operation={operation} filled={filled} onChange={onChange} />
        <div className="sy-ref-send">
          <Button type="submit" loading={isSending} disabled={!isReady}>
            {t(reads ? 'send' : 'sendWrite')}
          </Button>
          {lacking.length > 0 && (
            <span className="sy-ref-hint">{t('lackingFields', { names: lacking.join(', ') })}</span>
          )}
        </div>
        {fault !== undefined && <Problem fault={fault} />}
        {answered !== undefined && <AnswerView answered={answered} />}
      </form>
      <Confirm
        request={isAsking ? requestOf(operation, filled) : undefined}
        onClose={() => setAsking(false)}
        run={run}
        onDone={(result) => {
          setAsking(false);
          show(result);
        }}
      />
    </>
  );
}

function Confirm({
  request,
  onClose,
  run,
  onDone,
}: {
  /** What is asked about; undefined while nothing is. */
  readonly request: Request | undefined;
  readonly onClose: () => void;
  readonly run: () => Promise<Answered>;
  readonly onDone: (answered: Answered) => void;
}) {
  const t = useTranslate('api-console');
  const { environment } = useSession();
  if (request === undefined) return null;
  return (
    <ConfirmAction
      isOpen
      isDangerous={request.method === 'DELETE'}
      onClose={onClose}
      title={t('confirm.title')}
      confirm={t('confirm.do', { method: request.method })}
      run={run}
      onDone={onDone}
    >
      <p className="sy-dialogue-text">{t(`confirm.${environment}`)}</p>
      <CodeBlock text={`${request.method} ${request.address}`} label={t('confirm.what')} />
    </ConfirmAction>
  );
}
