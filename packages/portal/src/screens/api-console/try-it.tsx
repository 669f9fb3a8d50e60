/** The console: fills in, sends and shows one request. */
import { Button, Tabs } from '@mantine/core';
import { useState } from 'react';
import { useSearchParams } from '../../app/url-params.ts';
import { ConfirmDialog } from '../../components/forms/confirm-dialog.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Note } from '../../components/layout/note.tsx';
import { Panel } from '../../components/layout/page.tsx';
import { CodeBlock } from '../../components/values/code-block.tsx';
import { useFilters } from '../../filters/use-filters.ts';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import {
  type BuiltRequest,
  buildRequest,
  curlCommand,
  type FilledRequest,
  initialRequest,
  missingFields,
  parameterKey,
  parseHeaderLines,
} from './build-request.ts';
import { hasPermissionFor, isCallableFromPage, type Operation } from './parse-openapi.ts';
import { RequestFields } from './request-fields.tsx';
import { ResponseView } from './response-view.tsx';
import { type ReceivedResponse, sendRequest } from './send-request.ts';

/** Parameter values that the session provides. */
function useSessionValues(): Readonly<Record<string, string | undefined>> {
  const { userDomainId, organizationId, merchantId } = useSession();
  return { userDomainId, realm: userDomainId, organizationId, merchantId };
}

export function TryIt({ operation }: { readonly operation: Operation }) {
  const t = useTranslate('api-console');
  const sessionValues = useSessionValues();
  const urlValues = useSearchParams();
  const [filled, setFilled] = useState(() => initialRequest(operation, sessionValues, urlValues));
  return (
    <div className="sy-ref-console">
      <Panel title={t('tryIt')}>
        <Tabs defaultValue={isCallableFromPage(operation) ? 'call' : 'curl'} keepMounted={false}>
          <Tabs.List mb="md">
            {isCallableFromPage(operation) && <Tabs.Tab value="call">{t('call')}</Tabs.Tab>}
            <Tabs.Tab value="curl">curl</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="call">
            <Call operation={operation} filled={filled} onChange={setFilled} />
          </Tabs.Panel>
          <Tabs.Panel value="curl">
            <div className="sy-ref-stack">
              <CodeBlock
                text={curlCommand(operation, filled, location.origin)}
                label="curl"
                isTall
              />
              <p className="sy-ref-hint">{t(`curlHint.${operation.access}`)}</p>
            </div>
          </Tabs.Panel>
        </Tabs>
      </Panel>
    </div>
  );
}

/** Sends a read request immediately, and asks for confirmation before a change. */
function useCall(operation: Operation, filled: FilledRequest) {
  const queries = operation.parameters.filter(({ location }) => location !== 'header');
  const [, remember] = useFilters(queries.map(({ name }) => name));
  const [isSending, setSending] = useState(false);
  const [answered, setAnswered] = useState<ReceivedResponse | undefined>(undefined);
  const [fault, setFault] = useState<unknown>(undefined);

  async function run(): Promise<ReceivedResponse> {
    // The page address contains the parameters for sharing, but not the body.
    const queryValues = queries.map((each) => [
      each.name,
      filled.parameters[parameterKey(each)] ?? '',
    ]);
    remember(Object.fromEntries(queryValues));
    return sendRequest(buildRequest(operation, filled));
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

  function show(result: ReceivedResponse): void {
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
  readonly filled: FilledRequest;
  readonly onChange: (filled: FilledRequest) => void;
}) {
  const t = useTranslate('api-console');
  const { permissions } = useSession();
  const [isAsking, setAsking] = useState(false);
  const { run, read, show, isSending, answered, fault } = useCall(operation, filled);
  const lacking = missingFields(operation, filled);
  const isReady = lacking.length === 0 && parseHeaderLines(filled.headers) !== undefined;
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
        {!hasPermissionFor(operation, permissions) && (
          <Note icon="ban" tone="warn">
            {t('notYours')}
          </Note>
        )}
        <RequestFields operation={operation} filled={filled} onChange={onChange} />
        <div className="sy-ref-send">
          <Button type="submit" loading={isSending} disabled={!isReady}>
            {t(reads ? 'send' : 'sendWrite')}
          </Button>
          {lacking.length > 0 && (
            <span className="sy-ref-hint">{t('lackingFields', { names: lacking.join(', ') })}</span>
          )}
        </div>
        {fault !== undefined && <ErrorMessage fault={fault} />}
        {answered !== undefined && <ResponseView answered={answered} />}
      </form>
      <Confirm
        request={isAsking ? buildRequest(operation, filled) : undefined}
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
  /** The request to confirm; undefined if the dialog is closed. */
  readonly request: BuiltRequest | undefined;
  readonly onClose: () => void;
  readonly run: () => Promise<ReceivedResponse>;
  readonly onDone: (answered: ReceivedResponse) => void;
}) {
  const t = useTranslate('api-console');
  const { environment } = useSession();
  if (request === undefined) return null;
  return (
    <ConfirmDialog
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
    </ConfirmDialog>
  );
}
