/** The page of an API operation: description, parameters, responses and the console. */
import { usePathParam } from '../../app/url-params.ts';
import { Icon } from '../../components/icon.tsx';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { EmptyState, Loading, Page, Panel } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import { DescriptionText, InlineDescription } from './description-text.tsx';
import { MethodBadge } from './method-badge.tsx';
import {
  hasPermissionFor,
  type OpenApi,
  type Operation,
  type OperationResponse,
  type Parameter,
} from './parse-openapi.ts';
import { SchemaTree } from './schema-tree.tsx';
import { TryIt } from './try-it.tsx';
import { useOpenApi } from './use-openapi.ts';
import './api-console.css';

export default function OperationPage() {
  const t = useTranslate('api-console');
  const operationId = usePathParam('operationId');
  const { data, error, refetch } = useOpenApi();
  const operation = data?.operations.find((each) => each.operationId === operationId);
  const backLink = { to: '/console', label: t('title') };
  if (data === undefined || operation === undefined) {
    return (
      <Page title={operationId} backLink={backLink}>
        {error !== null && <ErrorMessage fault={error} onRetry={() => void refetch()} />}
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
          <MethodBadge method={operation.method} />{' '}
          <code className="sy-broken">{operation.path}</code>
        </span>
      }
      backLink={backLink}
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
        <DescriptionText>{operation.description}</DescriptionText>
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
  const isMine = hasPermissionFor(operation, permissions);
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
                <InlineDescription>{description}</InlineDescription>
              </p>
            )}
          </div>
        </li>
      ))}
    </ul>
  );
}

function Answers({
  responses,
  document,
}: {
  readonly responses: readonly OperationResponse[];
  readonly document: OpenApi;
}) {
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
                <InlineDescription>{description}</InlineDescription>
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
