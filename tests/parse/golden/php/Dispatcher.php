<?php

declare(strict_types=1);

namespace App\Queue;

use App\Contracts\{Job, Handler as JobHandler};
use App\Support\Collection;
use Psr\Log\LoggerInterface as Logger;
use function App\Support\retry;
use const App\Support\MAX_ATTEMPTS;

require_once __DIR__ . '/bootstrap.php';
require 'legacy/helpers.php';

const DEFAULT_QUEUE = 'default';
define('QUEUE_DEBUG', false);

/**
 * How urgent a job is.
 */
enum Priority: int implements HasLabel
{
    case Low = 0;
    /** Before everything else. */
    case High = 10;

    const DEFAULT = self::Low;

    public static function fromLabel(string $label): self
    {
        return match (strtolower($label)) {
            'high' => self::High,
            default => self::DEFAULT,
        };
    }

    public function label(): string
    {
        return ucfirst(strtolower($this->name));
    }
}

interface HasLabel
{
    public const SEPARATOR = '-';

    public function label(): string;
}

// Things that are told when a job is done.
trait Notifies
{
    /** @var callable[] */
    protected array $listeners = [], $once = [];

    abstract public function name(): string;

    public function listen(callable ...$listeners): static
    {
        array_push($this->listeners, ...$listeners);

        return $this;
    }
}

#[\Attribute(\Attribute::TARGET_CLASS)]
final class Queued
{
    public function __construct(public readonly string $queue = DEFAULT_QUEUE)
    {
    }
}

/**
 * Hands jobs to their handlers.
 *
 * @template T of Job
 */
#[Queued('mail')]
abstract class Dispatcher extends \App\Core\Service implements JobHandler, \Countable
{
    use Notifies, Loggable {
        Notifies::listen as protected traitListen;
        Loggable::log insteadof Notifies;
    }

    public const int RETRIES = 3, PAUSE = 50;

    private static ?self $instance = null;

    protected Collection $jobs;

    public string $title {
        get => ucfirst($this->title);
        set(string $value) {
            $this->title = trim($value);
        }
    }

    /**
     * @param array<string, class-string> $map
     */
    public function __construct(
        private readonly Logger $logger,
        protected ?Clock $clock = null,
        public array $map = [],
    ) {
        parent::__construct();
        $this->jobs = new Collection();
    }

    // One dispatcher for the whole process.
    public static function instance(): static
    {
        return self::$instance ??= new static(new \Psr\Log\NullLogger());
    }

    /** Runs one job, and again while it fails. */
    #[Traced]
    public function dispatch(
        Job|callable $job,
        Priority $priority = Priority::DEFAULT,
    ): ?Result {
        $this->logger->info('dispatching', ['job' => $job::class]);
        $attempt = fn (int $n): Result => $this->run($job, $n);
        $result = retry(static::RETRIES, $attempt);
        $this->jobs?->push($job)->sort(fn ($a, $b) => $a <=> $b);

        if ($result instanceof Failed) {
            throw new DispatchFailed($result->reason());
        }

        return $result;
    }

    abstract protected function run(Job $job, int $attempt): Result;

    public function count(): int
    {
        return \count($this->jobs);
    }

    public function __get(string $name): mixed
    {
        return call_user_func([$this, $name]) ?: Registry::$shared[$name];
    }
}

class DispatchFailed extends \RuntimeException {}

/** A dispatcher that does nothing. */
function null_dispatcher(?Logger $logger = null): Dispatcher
{
    return new class($logger ?? Container::get(Logger::class)) extends Dispatcher {
        protected function run(Job $job, int $attempt): Result
        {
            return Result::skipped();
        }
    };
}

if (! function_exists('App\Queue\dispatch')) {
    function dispatch(Job $job): ?Result
    {
        static $calls = 0;
        global $dispatcher;
        $handler = function () use ($job) {
            return Dispatcher::instance()->dispatch($job);
        };

        return $handler();
    }
}

$dispatcher = new Dispatcher($logger);
$onExit = function (int $code) use ($dispatcher): void {
    exit($code + $dispatcher->count() + MAX_ATTEMPTS);
};
