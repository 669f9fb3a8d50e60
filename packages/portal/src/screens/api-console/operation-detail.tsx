/** One operation: what it does, what it takes and answers, and the console that calls it. */
import { useParam } from '../../app/url-params.ts';
import { Icon } from '../../components/icon.tsx';
import { Problem } from '../../components/layout/error-message.tsx';
import { EmptyState, Loading, Page, Panel } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import { Marked, Prose } from './description-text.tsx';
import { Method } from './method-badge.tsx';
import {
  type Answer,
  isHeld,
  type OpenApi,
  type Operation,
  type Parameter,
} from './parse-openapi.ts';
import { SchemaTree } from './schema-tree.tsx';
import { TryIt } from './try-it.tsx';
import { useOpenApi } from './use-openapi.ts';
import './api-console.css';

export default function OperationPage() {
  const t = useTranslate('api-console');
  const operationId = useParam('operationId');
  const { data, error, refetch } = useOpenApi();
  const operation = data?.operations.find((each) => each.operationId === operationId);
  const back = { to: '/console', label: t('title') };
  if (data === undefined || operation === undefined) {
    return (
      <Page title={operationId} backLink={back}>
        {error !== null && <Problem fault={error} onRetry={() => void refetch()} />}
        {data === undefined && error === null && <Loading lines={12} />}
        {data !== undefined && (
          <EmptyState icon="search" title={t('none.title')}>
            {t('none.unknown')}
          </EmptyState>
        )}
      </Page>
    );
  }
  return (
    <Page
      title={operation.summary}
      lead={
        <span className="sy-ref-address">
          <Method method={operation.method} /> <code className="sy-broken">{operation.path}</code>
        </span>
      }
      backLink={back}
    >
      <div className="sy-ref-columns">
        <Reading operation={operation} document={data.document} />
        <TryIt key={operationId} operation={operation} />
      </div>
    </Page>
  );
}

function Reading({
  operation,
  document,
}: {
  readonly operation: Operation;
  readonly document: OpenApi;
}) {
  const t = useTranslate('api-console');
  const [body] = operation.bodies;
  return (
    <div className="sy-ref-reading">
      <Panel title={t('about')}>
        <Prose>{operation.description}</Prose>
        <Rights operation={operation} />
      </Panel>
      {operation.parameters.length > 0 && (
        <Panel title={t('parameters')}>
          <Parameters parameters={operation.parameters} />
        </Panel>
      )}
      {body?.schema !== undefined && (
        <Panel title={`${t('body')} · ${body.type}`}>
          <SchemaTree document={document} schema={body.schema} />
        </Panel>
      )}
      <Panel title={t('answers')} flush>
        <Answers responses={operation.answers} document={document} />
      </Panel>
    </div>
  );
}

function Rights({ operation }: { readonly operation: Operation }) {
  const t = useTranslate('api-console');
  const { permissions } = useSession();
  const { access, permissions: needed } = operation;
  if (access !== 'permission') return <p className="sy-ref-rights">{t(`access.${access}`)}</p>;
  const isMine = isHeld(operation, permissions);
  return (
    <p className="sy-ref-rights" data-held={isMine}>
      <Icon name={isMine ? 'check' : 'ban'} size={16} />
      <span>
        {t(isMine ? 'held' : 'notHeld')}{' '}
        {needed.map((each) => (
          <code key={each}>{each} </code>
        ))}
      </span>
    </p>
  );
}

function Parameters({ parameters }: { readonly parameters: readonly Parameter[] }) {
  const t = useTranslate('api-console');
  return (
    <ul className="sy-ref-tree">
      {parameters.map(({ name, location, isRequired, description }) => (
        <li key={`${location} ${name}`}>
          <div className="sy-ref-member">
            <code>{name}</code>
            <span className="sy-ref-word">{t(`places.${location}`)}</span>
            {isRequired && <span className="sy-ref-required">{t('required')}</span>}
            {description !== undefined && (
              <p>
                <Marked>{description}</Marked>
              </p>
            )}
          </div>
        </li>
      ))}
    </ul>
  );
}

function Answers({ responses, document }: { readonly responses: readonly Answer[]; readonly document: OpenApi }) {
  return (
    <ul className="sy-ref-answers">
      {responses.map(({ status, description, schema, types }) => {
        const isGood = status.startsWith('2') || status.startsWith('3');
        return (
          <li key={status}>
            <div className="sy-ref-answer-head">
              <span className="sy-ref-status" data-tone={isGood ? 'good' : 'bad'}>
                {status}
              </span>
              <span className="sy-broken">
                <Marked>{description}</Marked>
              </span>
            </div>
            {isGood && schema !== undefined && (
              <details className="sy-ref-below">
                <summary>{types.join(', ')}</summary>
                <SchemaTree document={document} schema={schema} />
              </details>
            )}
          </li>
        );
      })}
    </ul>
  );
}
