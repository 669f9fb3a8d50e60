/** Warns before the session ends for want of work, and says so when it has ended. */
import { Button, Modal } from '@mantine/core';
import { entry } from '../app/current-portal.ts';
import { useTranslate } from '../locales/index.ts';
import { signIn, signInAddress } from '../session/session.ts';
import { useSessionState } from '../session/session-monitor-context.ts';

/** Above every other dialogue: a form may be open when the session ends. */
const stay = {
  withCloseButton: false,
  closeOnEscape: false,
  closeOnClickOutside: false,
  zIndex: 500,
};
/** Whoever comes by is not the one who has signed out. */
const veil = { backgroundOpacity: 0.85, blur: 12 };

export default function SessionDialogues() {
  const t = useTranslate('shell');
  const { state, secondsLeft, touch } = useSessionState();
  return (
    <>
      <Modal opened={state === 'idle'} onClose={touch} title={t('idle.title')} {...stay}>
        <p className="sy-dialogue-text">{t('idle.text', { count: secondsLeft })}</p>
        <div className="sy-confirm-buttons">
          <Button data-autofocus onClick={touch}>
            {t('idle.stay')}
          </Button>
        </div>
      </Modal>
      <Modal
        opened={state === 'ended'}
        onClose={() => signIn()}
        title={t('ended.title')}
        overlayProps={veil}
        {...stay}
      >
        <p className="sy-dialogue-text">{t('ended.text')}</p>
        <div className="sy-confirm-buttons">
          <Button variant="default" onClick={() => signIn()}>
            {t('ended.signIn')}
          </Button>
          <Button
            data-autofocus
            component="a"
            href={signInAddress(`/${entry}/`)}
            target="_blank"
            rel="noopener"
          >
            {t('ended.newTab')}
          </Button>
        </div>
      </Modal>
    </>
  );
}
