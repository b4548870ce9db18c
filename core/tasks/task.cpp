#include "core/tasks/task.hpp"

#include <chrono>
#include <new>
#include <stdexcept>

#include "core/files/companion_library.hpp"
#include "core/limits/resource_error.hpp"

namespace cclgym {

void throw_failure(const TaskReply& reply) {
  if (reply.outcome == Outcome::NoResources) throw ResourceError(reply.text);
  if (reply.outcome == Outcome::UserMistake) throw UserError(reply.text);
  if (reply.outcome == Outcome::Stalled || reply.outcome == Outcome::TimedOut) {
    throw SimulationStalled(reply.text);
  }
  throw std::runtime_error(reply.text);
}

TaskReply do_task(const Task& task, std::size_t index, const TaskInput& input) {
  using SteadyClock = std::chrono::steady_clock;
  const auto start = SteadyClock::now();
  TaskReply reply{.index = index};
  try {
    reply.text = task(index, input);
  } catch (const ResourceError& error) {
    reply.outcome = Outcome::NoResources;
    reply.text = error.what();
  } catch (const UserError& error) {
    reply.outcome = Outcome::UserMistake;
    reply.text = error.what();
  } catch (const LibraryMissing& error) {
    reply.outcome = Outcome::UserMistake;
    reply.text = error.what();
  } catch (const SimulationStalled& error) {
    reply.outcome = Outcome::Stalled;
    reply.text = error.what();
  } catch (const std::bad_alloc&) {
    reply.outcome = Outcome::NoResources;
    reply.text = kOutOfMemory;
  } catch (const std::exception& error) {
    reply.outcome = Outcome::Failed;
    reply.text = error.what();
  }
  reply.seconds = std::chrono::duration<double>(SteadyClock::now() - start).count();
  return reply;
}

}  // namespace cclgym
